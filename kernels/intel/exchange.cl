// A card's share of a ring of cards, over Intel's external channels: what study beff times.
//
// Kernel isthmus_send of a card and isthmus_receive of the next one are partners. In each step the
// first sends a message and then receives one, the second receives and then sends. Neither ever
// sends while its partner does, so no channel can block the two, whatever it holds; and no pair
// waits for another. A message is spread over the two channels of its direction.
//
// Messages come from registers: 64-bit word i of the message of step n is
// sent + n * per_step + i * STEP, which the partner expects and compares word by word. The last
// `kept` messages are stored as well, each in a slot of `slot_bytes` of its own.
#pragma OPENCL EXTENSION cl_intel_channels : enable

#ifndef CHANNEL_BYTES
#define CHANNEL_BYTES 32  // of one word of a channel: 32 on a 520N
#endif
#ifndef CHANNEL_DEPTH
#define CHANNEL_DEPTH 8
#endif

#define STEP 0x9E3779B97F4A7C15UL
#define WORDS (CHANNEL_BYTES / 8)

typedef struct {
  ulong word[WORDS];
} packet_t;

#define DEPTH __attribute__((depth(CHANNEL_DEPTH)))
#ifdef WITHOUT_PORTS  // an emulated card talks to itself
channel packet_t wire0 DEPTH;
channel packet_t wire1 DEPTH;
channel packet_t wire2 DEPTH;
channel packet_t wire3 DEPTH;
#define out0 wire0
#define out1 wire1
#define out2 wire2
#define out3 wire3
#define in0 wire2
#define in1 wire3
#define in2 wire0
#define in3 wire1
#else
#define AT(name) DEPTH __attribute__((io(name)))
channel packet_t out0 AT("kernel_output_ch0");
channel packet_t out1 AT("kernel_output_ch1");
channel packet_t out2 AT("kernel_output_ch2");
channel packet_t out3 AT("kernel_output_ch3");
channel packet_t in0 AT("kernel_input_ch0");
channel packet_t in1 AT("kernel_input_ch1");
channel packet_t in2 AT("kernel_input_ch2");
channel packet_t in3 AT("kernel_input_ch3");
#endif

packet_t packet_from(ulong first) {
  packet_t packet;
#pragma unroll
  for (uint i = 0; i < WORDS; ++i) packet.word[i] = first + i * STEP;
  return packet;
}

bool differs(packet_t packet, ulong first) {
  bool any = false;
#pragma unroll
  for (uint i = 0; i < WORDS; ++i) any |= packet.word[i] != first + i * STEP;
  return any;
}

// Channels are known when this is compiled, so that functions cannot be given them.
#define SEND(left, right)                                              \
  for (uint pair = 0; pair < pairs; ++pair) {                          \
    const ulong first = sent + pair * (2 * WORDS * STEP);              \
    write_channel_intel(left, packet_from(first));                     \
    write_channel_intel(right, packet_from(first + WORDS * STEP));     \
  }
#define RECEIVE(left, right)                                                    \
  for (uint pair = 0; pair < pairs; ++pair) {                                   \
    const ulong first = expected + pair * (2 * WORDS * STEP);                   \
    const packet_t from_left = read_channel_intel(left);                        \
    const packet_t from_right = read_channel_intel(right);                      \
    wrong += differs(from_left, first) || differs(from_right, first + WORDS * STEP); \
    if (step + kept >= steps) {                                                 \
      received[slot + 2 * pair] = from_left;                                    \
      received[slot + 2 * pair + 1] = from_right;                               \
    }                                                                           \
  }

// All of a step before the next; the fence keeps a kernel's two halves apart.
#define STEPS(first_half, second_half)                            \
  const uint pairs = (bytes + 2 * CHANNEL_BYTES - 1) / (2 * CHANNEL_BYTES); \
  const uint slot_packets = slot_bytes / CHANNEL_BYTES;           \
  uint slot = 0;                                                  \
  ulong wrong = 0;                                                \
  for (uint step = 0; step < steps; ++step) {                     \
    first_half                                                    \
    mem_fence(CLK_CHANNEL_MEM_FENCE);                             \
    second_half                                                   \
    mem_fence(CLK_CHANNEL_MEM_FENCE);                             \
    sent += per_step;                                             \
    expected += per_step;                                         \
    slot = slot + slot_packets == kept * slot_packets ? 0 : slot + slot_packets; \
  }                                                               \
  *wrong_pairs = wrong;

#define ARGUMENTS                                                                         \
  global packet_t *restrict received, global ulong *restrict wrong_pairs, const uint bytes, \
      const uint slot_bytes, const uint kept, const uint steps, ulong sent, ulong expected, \
      const ulong per_step

// To the next card over channels 0 and 1, and what it sends back.
__attribute__((max_global_work_dim(0))) kernel void isthmus_send(ARGUMENTS) {
  STEPS(SEND(out0, out1), RECEIVE(in0, in1))
}

// From the card before over channels 2 and 3, and back to it.
__attribute__((max_global_work_dim(0))) kernel void isthmus_receive(ARGUMENTS) {
  STEPS(RECEIVE(in2, in3), SEND(out2, out3))
}

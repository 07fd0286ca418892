// Kernels of one card in a ring of cards with Intel's external channels, which study beff times.
//
// Kernel isthmus_send of a card and isthmus_receive of the next card are partners. In each step,
// isthmus_send sends a message and then receives one; isthmus_receive receives and then sends.
// Partners never send at the same time, so that a full channel cannot block both. No pair of
// partners waits for another pair. A message uses both channels of its direction.
//
// Kernels compute messages instead of reading memory: 64-bit word i of the message of step n is
// sent + n * per_step + i * STEP. The partner compares each word with the expected value. It also
// stores the last `kept` messages, each in a slot of `slot_bytes`.
#pragma OPENCL EXTENSION cl_intel_channels : enable

#ifndef CHANNEL_BYTES
#define CHANNEL_BYTES 32  // bytes of one word of a channel: 32 on a 520N
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
#ifdef WITHOUT_PORTS  // an emulated card has no ports: its channels lead to its own kernels
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

// Macros, because a channel must be known at compile time and cannot be an argument of a function.
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

// Loop over the steps. The fences keep both halves of a step, and the steps, in order.
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

// Sends to the next card over channels 0 and 1, then receives what that card sends back.
__attribute__((max_global_work_dim(0))) kernel void isthmus_send(ARGUMENTS) {
  STEPS(SEND(out0, out1), RECEIVE(in0, in1))
}

// Receives from the previous card over channels 2 and 3, then sends back to that card.
__attribute__((max_global_work_dim(0))) kernel void isthmus_receive(ARGUMENTS) {
  STEPS(RECEIVE(in2, in3), SEND(out2, out3))
}

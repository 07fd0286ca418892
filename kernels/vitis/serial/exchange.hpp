// The kernel KERNEL: half of a card's share of a ring of cards, over one serial port; study beff.
//
// What the two kernels do, and what their arguments mean, is said at the head of
// kernels/intel/exchange.cl. Here a direction has one port, not two channels, and a word has 64
// bytes, as a pair of words has on a 520N: messages, slots and counts are the same.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

#include <cstdint>

#include "../hls/word.hpp"

namespace {

using Packet = ap_axiu<8 * word_bytes, 0, 0, 0>;
using Port = hls::stream<Packet>;

constexpr std::uint64_t lane_step = 0x9E3779B97F4A7C15;
constexpr std::uint64_t word_step = lanes * lane_step;

Word word_from(std::uint64_t first) {
#pragma HLS INLINE
  Word word = zero();
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    set_lane(word, n, first + n * lane_step);
  }
  return word;
}

bool differs(const Word& word, std::uint64_t first) {
#pragma HLS INLINE
  bool any = false;
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    any |= lane(word, n) != first + n * lane_step;
  }
  return any;
}

void send(Port& output, std::uint32_t words, std::uint64_t first) {
#pragma HLS INLINE
  for (std::uint32_t i = 0; i < words; ++i) {
#pragma HLS PIPELINE II = 1
    Packet packet;
    packet.data = word_from(first);
    packet.keep = ~std::uint64_t(0);
    packet.strb = ~std::uint64_t(0);
    packet.last = i + 1 == words;
    output.write(packet);
    first += word_step;
  }
}

/// How many words were wrong. Stores stand in a loop of their own, in which each word has one, so
/// that HLS makes bursts of them.
template <bool stored>
std::uint64_t receive(Port& input, Word* slot, std::uint32_t words, std::uint64_t first) {
#pragma HLS INLINE
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < words; ++i) {
#pragma HLS PIPELINE II = 1
    const Word word = input.read().data;
    wrong += differs(word, first) ? 1 : 0;
    if (stored) slot[i] = word;
    first += word_step;
  }
  return wrong;
}

}  // namespace

extern "C" {

// The ports come last: the other arguments are counted as those of kernels/intel are.
void KERNEL(Word* received, std::uint64_t* wrong_pairs, std::uint32_t bytes,
            std::uint32_t slot_bytes, std::uint32_t kept, std::uint32_t steps, std::uint64_t sent,
            std::uint64_t expected, std::uint64_t per_step, Port& output, Port& input) {
#pragma HLS INTERFACE m_axi port = received offset = slave bundle = \
    received max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS INTERFACE m_axi port = wrong_pairs offset = slave bundle = wrong_pairs
#pragma HLS INTERFACE s_axilite port = received
#pragma HLS INTERFACE s_axilite port = wrong_pairs
#pragma HLS INTERFACE s_axilite port = bytes
#pragma HLS INTERFACE s_axilite port = slot_bytes
#pragma HLS INTERFACE s_axilite port = kept
#pragma HLS INTERFACE s_axilite port = steps
#pragma HLS INTERFACE s_axilite port = sent
#pragma HLS INTERFACE s_axilite port = expected
#pragma HLS INTERFACE s_axilite port = per_step
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS INTERFACE axis port = output
#pragma HLS INTERFACE axis port = input
  const std::uint32_t words = (bytes + word_bytes - 1) / word_bytes;
  const std::uint32_t slot_words = slot_bytes / word_bytes;
  std::uint32_t slot = 0;
  std::uint64_t wrong = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (SENDS_FIRST) send(output, words, sent);
    if (steps - step > kept) {
      wrong += receive<false>(input, received, words, expected);
    } else {
      wrong += receive<true>(input, received + slot, words, expected);
    }
    if (!SENDS_FIRST) send(output, words, sent);
    sent += per_step;
    expected += per_step;
    slot = slot + slot_words == kept * slot_words ? 0 : slot + slot_words;
  }
  *wrong_pairs = wrong;
}
}

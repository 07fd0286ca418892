// vadd(a, b, c, elements): c = a + b, 32-bit integers that wrap around.
#include "word.hpp"

namespace {

Word sum(const Word& a, const Word& b) {
  Word word = zero();
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    const std::uint64_t low = std::uint32_t(lane(a, n)) + std::uint64_t(std::uint32_t(lane(b, n)));
    const std::uint64_t high = (lane(a, n) >> 32) + (lane(b, n) >> 32);
    set_lane(word, n, (high << 32) | std::uint32_t(low));
  }
  return word;
}

}  // namespace

extern "C" {

void vadd(const Word* a, const Word* b, Word* c, std::int64_t elements) {
#pragma HLS INTERFACE m_axi port = a offset = slave bundle = a max_read_burst_length = \
    64 num_read_outstanding = 16
#pragma HLS INTERFACE m_axi port = b offset = slave bundle = b max_read_burst_length = \
    64 num_read_outstanding = 16
#pragma HLS INTERFACE m_axi port = c offset = slave bundle = c max_write_burst_length = \
    64 num_write_outstanding = 16
#pragma HLS INTERFACE s_axilite port = a
#pragma HLS INTERFACE s_axilite port = b
#pragma HLS INTERFACE s_axilite port = c
#pragma HLS INTERFACE s_axilite port = elements
#pragma HLS INTERFACE s_axilite port = return
  const std::int64_t words = 4 * elements / word_bytes;
  const std::int64_t tail = 4 * elements % word_bytes;
  for (std::int64_t i = 0; i < words; ++i) {
#pragma HLS PIPELINE II = 1
    c[i] = sum(a[i], b[i]);
  }
  if (tail > 0) {  // HLS writes whole words: keep the bytes after the end of the buffer
    c[words] = joined(sum(a[words], b[words]), c[words], tail);
  }
}
}

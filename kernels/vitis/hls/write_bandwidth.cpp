// write_bandwidth(output0, buf_size, iter): fills buf_size bytes, iter times.
#include "word.hpp"

extern "C" {

void write_bandwidth(Word* output0, std::int64_t buf_size, std::int64_t iter) {
#pragma HLS INTERFACE m_axi port = output0 offset = slave bundle = \
    output0 max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS INTERFACE s_axilite port = output0
#pragma HLS INTERFACE s_axilite port = buf_size
#pragma HLS INTERFACE s_axilite port = iter
#pragma HLS INTERFACE s_axilite port = return
  const std::int64_t words = buf_size / word_bytes;
  const std::int64_t tail = buf_size % word_bytes;
  const std::int64_t run = run_words(buf_size);
  for (std::int64_t sweep = 0; sweep < iter; ++sweep) {
    for (std::int64_t begin = 0; begin < words; begin += run) {
      const std::int64_t length = least(run, words - begin);
      for (std::int64_t i = 0; i < length; ++i) {
#pragma HLS PIPELINE II = 1
        output0[begin + i] = pattern(sweep, begin + i);
      }
    }
    if (tail > 0) {  // HLS writes whole words: keep the bytes after the end of the buffer
      output0[words] = joined(pattern(sweep, words), output0[words], tail);
    }
  }
}
}

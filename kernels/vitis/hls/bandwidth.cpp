// bandwidth(input0, output0, buf_size, iter): copies buf_size bytes, iter times; reads and writes
// at once.
#include "word.hpp"

extern "C" {

void bandwidth(const Word* input0, Word* output0, std::int64_t buf_size, std::int64_t iter) {
#pragma HLS INTERFACE m_axi port = input0 offset = slave bundle = input0 max_read_burst_length = \
    64 num_read_outstanding = 16
#pragma HLS INTERFACE m_axi port = output0 offset = slave bundle = \
    output0 max_write_burst_length = 64 num_write_outstanding = 16
#pragma HLS INTERFACE s_axilite port = input0
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
        output0[begin + i] = input0[begin + i];
      }
    }
    if (tail > 0) {  // HLS writes whole words: keep the bytes after the end of the buffer
      output0[words] = joined(input0[words], output0[words], tail);
    }
  }
}
}

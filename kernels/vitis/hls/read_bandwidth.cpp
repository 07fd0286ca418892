// read_bandwidth(input0, buf_size, iter): reads buf_size bytes, iter times.
#include "word.hpp"

extern "C" {

/// Keeps the reads: a volatile variable must be written, so that HLS cannot leave out the reads
/// that its value needs. A volatile pointer to the memory would keep them, too, but forbid bursts.
volatile std::uint64_t read_checksum;

void read_bandwidth(const Word* input0, std::int64_t buf_size, std::int64_t iter) {
#pragma HLS INTERFACE m_axi port = input0 offset = slave bundle = input0 max_read_burst_length = \
    64 num_read_outstanding = 16
#pragma HLS INTERFACE s_axilite port = input0
#pragma HLS INTERFACE s_axilite port = buf_size
#pragma HLS INTERFACE s_axilite port = iter
#pragma HLS INTERFACE s_axilite port = return
  const std::int64_t words = buf_size / word_bytes;
  const std::int64_t tail = buf_size % word_bytes;
  const std::int64_t run = run_words(buf_size);
  std::uint64_t checksum = 0;
  for (std::int64_t sweep = 0; sweep < iter; ++sweep) {
    for (std::int64_t begin = 0; begin < words; begin += run) {
      const std::int64_t length = least(run, words - begin);
      for (std::int64_t i = 0; i < length; ++i) {
#pragma HLS PIPELINE II = 1
        checksum = folded(checksum, input0[begin + i]);
      }
    }
    if (tail > 0) {
      checksum = folded(checksum, joined(input0[words], zero(), tail));
    }
  }
  read_checksum = checksum;
}
}

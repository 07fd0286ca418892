// Processes a 512-bit word of 16 numbers per clock cycle, so that the memory bounds the rate.
#include <ap_int.h>

extern "C" {

void wide(const ap_uint<512>* in, ap_uint<512>* out, ap_uint<32> mask, int words) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out max_write_burst_length = 64
  for (int i = 0; i < words; ++i) {
#pragma HLS PIPELINE II = 1
    const ap_uint<512> word = in[i];
    ap_uint<512> made;
    for (int lane = 0; lane < 16; ++lane) {
#pragma HLS UNROLL
      const ap_uint<32> number = word.range(32 * lane + 31, 32 * lane);
      made.range(32 * lane + 31, 32 * lane) = (number ^ mask) + lane;
    }
    out[i] = made;
  }
}
}

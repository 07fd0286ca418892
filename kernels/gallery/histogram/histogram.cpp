// Counts bytes by value in the kernel's local memory, then writes the counts. The number of bytes
// of 128 or more is a result in a register.
#include <ap_int.h>

extern "C" {

void histogram(const ap_uint<8>* in, unsigned* counts, int n, unsigned& above) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE m_axi port = counts offset = slave bundle = counts
#pragma HLS INTERFACE s_axilite port = above
  unsigned local[256] = {};
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    ++local[in[i]];
  }
  above = 0;
  for (int value = 0; value < 256; ++value) {
#pragma HLS PIPELINE II = 1
    counts[value] = local[value];
    above += value >= 128 ? local[value] : 0;
  }
}
}

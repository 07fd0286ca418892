// First of three kernels that are connected by streams: copies from memory to a stream.
#include <hls_stream.h>

extern "C" {

void fetch(const int* in, hls::stream<int>& out, int n) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE axis port = out
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    out << in[i];
  }
}
}

// Last of three kernels: copies from a stream to memory.
#include <hls_stream.h>

extern "C" {

void store(hls::stream<int>& in, int* out, int n) {
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    out[i] = in.read();
  }
}
}

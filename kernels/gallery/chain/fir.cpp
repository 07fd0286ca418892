// Second of three kernels: filters a stream (each value with the three before it) without memory.
#include <hls_stream.h>

extern "C" {

void fir(hls::stream<int>& in, hls::stream<int>& out, int n) {
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = out
  const int weights[4] = {4, -2, 1, 3};
  int before[4] = {0, 0, 0, 0};
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    int sum = 0;
    for (int tap = 3; tap > 0; --tap) {
#pragma HLS UNROLL
      before[tap] = before[tap - 1];
      sum += weights[tap] * before[tap];
    }
    in >> before[0];
    out << sum + weights[0] * before[0];
  }
}
}

// First of three kernels: copies from memory to a stream, and marks the last word as last.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

extern "C" {

void source(const int* in, hls::stream<ap_axiu<32, 0, 0, 0> >& out, int n) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE axis port = out
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    ap_axiu<32, 0, 0, 0> word;
    word.data = in[i];
    word.keep = -1;
    word.strb = -1;
    word.last = i + 1 == n;
    out.write(word);
  }
}
}

// Last of three kernels: copies from a stream to memory, up to the word that is marked as last.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

extern "C" {

void sink(hls::stream<ap_axiu<32, 0, 0, 0> >& in, int* out) {
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out
  bool last = false;
  for (int i = 0; !last; ++i) {
#pragma HLS PIPELINE II = 1
    const ap_axiu<32, 0, 0, 0> word = in.read();
    out[i] = word.data;
    last = word.last;
  }
}
}

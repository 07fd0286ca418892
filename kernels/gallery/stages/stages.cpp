// Three stages of one kernel, connected by streams: one reads, one computes, one writes.
#include <hls_stream.h>

static void fetch(const int* in, hls::stream<int>& out, int n) {
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    out.write(in[i]);
  }
}

static void difference(hls::stream<int>& in, hls::stream<int>& out, int n) {
  int before = 0;
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    const int value = in.read();
    out << value - before;
    before = value;
  }
}

static void store(hls::stream<int>& in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    out[i] = in.read();
  }
}

extern "C" {

void stages(const int* in, int* out, int n) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out
#pragma HLS DATAFLOW
  hls::stream<int> fetched("fetched");
  hls::stream<int> computed("computed");
#pragma HLS STREAM variable = fetched depth = 16
  fetch(in, fetched, n);
  difference(fetched, computed, n);
  store(computed, out, n);
}
}

// histogram with its counts in a local array, which is copied back once.
extern "C" void histogram_local(const unsigned* in, unsigned* out, int n) {
#pragma HLS INTERFACE m_axi port = in bundle = in
#pragma HLS INTERFACE m_axi port = out bundle = out
  unsigned t[256];
  for (int i = 0; i < 256; ++i) {
    t[i] = out[i];
  }
  for (int i = 0; i < n; ++i) {
    t[in[i] & 255]++;
  }
  for (int i = 0; i < 256; ++i) {
    out[i] = t[i];
  }
}

// Adds 1 to each number, in several sweeps. One 4-byte number per clock cycle bounds the rate.
extern "C" {

void narrow(const unsigned* in, unsigned* out, unsigned bytes, unsigned sweeps) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out
  for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
    for (unsigned i = 0; i < bytes / sizeof(unsigned); ++i) {
#pragma HLS PIPELINE II = 1
      out[i] = in[i] + 1;
    }
  }
}
}

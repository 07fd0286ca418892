// fir_sums with a bundle for each argument.
extern "C" void fir_ports(const float* x, const float* h, float* y, int n, int taps) {
#pragma HLS INTERFACE m_axi port = x bundle = x
#pragma HLS INTERFACE m_axi port = h bundle = h
#pragma HLS INTERFACE m_axi port = y bundle = y
  for (int i = 0; i < n; ++i) {
    float p[7] = {};
#pragma HLS ARRAY_PARTITION variable = p complete
    for (int k = 0; k < taps; ++k) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = p inter RAW distance = 7 true
      p[k % 7] += h[k] * x[i + k];
    }
    float sum = 0;
    for (int k = 0; k < 7; ++k) {
      sum += p[k];
    }
    y[i] = sum;
  }
}

// Each output adds up one product after the other, and reads its words of x and h again.
extern "C" void fir(const float* x, const float* h, float* y, int n, int taps) {
#pragma HLS INTERFACE m_axi port = x bundle = gmem
#pragma HLS INTERFACE m_axi port = h bundle = gmem
#pragma HLS INTERFACE m_axi port = y bundle = gmem
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = 0; k < taps; ++k) {
      sum += h[k] * x[i + k];
    }
    y[i] = sum;
  }
}

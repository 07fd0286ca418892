// fir with the latest words of x in a shift register, and the loop over the taps unrolled.
extern "C" void fir_shift(const float* x, const float* h, float* y, int n, int taps) {
#pragma HLS INTERFACE m_axi port = x bundle = gmem
#pragma HLS INTERFACE m_axi port = h bundle = gmem
#pragma HLS INTERFACE m_axi port = y bundle = gmem
  constexpr int length = 32;  // taps, which must be a constant
  float coefficients[length], last[length];
#pragma HLS ARRAY_PARTITION variable = coefficients complete
#pragma HLS ARRAY_PARTITION variable = last complete
  for (int k = 0; k < length; ++k) {
    coefficients[k] = h[k];
  }
  for (int k = 0; k < length - 1; ++k) {
    last[k + 1] = x[k];
  }
  for (int i = 0; i < n; ++i) {
#pragma HLS PIPELINE II = 1
    for (int k = 0; k < length - 1; ++k) {
      last[k] = last[k + 1];
    }
    last[length - 1] = x[i + length - 1];
    float sum = 0;
    for (int k = 0; k < length; ++k) {
      sum += coefficients[k] * last[k];
    }
    y[i] = sum;
  }
}

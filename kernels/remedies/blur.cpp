// The mean of 3 rows of 5 pixels: reads each pixel fifteen times.
using Pixel = unsigned char;
extern "C" void blur(const Pixel* in, Pixel* out, int width, int height) {
#pragma HLS INTERFACE m_axi port = in bundle = in
#pragma HLS INTERFACE m_axi port = out bundle = out
  for (int y = 1; y < height - 1; ++y) {
    for (int x = 2; x < width - 2; ++x) {
#pragma HLS PIPELINE II = 1
      int sum = 0;
      for (int j = -1; j <= 1; ++j) {
        for (int i = -2; i <= 2; ++i) {
          sum += in[(y + j) * width + x + i];
        }
      }
      out[y * width + x] = sum / 15;
    }
  }
}

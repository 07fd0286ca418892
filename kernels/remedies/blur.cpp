// The mean of 3 by 3 pixels: reads each pixel nine times.
using Pixel = unsigned char;
extern "C" void blur(const Pixel* in, Pixel* out, int width, int height) {
#pragma HLS INTERFACE m_axi port = in bundle = in
#pragma HLS INTERFACE m_axi port = out bundle = out
  for (int y = 1; y < height - 1; ++y) {
    for (int x = 1; x < width - 1; ++x) {
#pragma HLS PIPELINE II = 1
      int sum = 0;
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i) {
          sum += in[(y + j) * width + x + i];
        }
      }
      out[y * width + x] = sum / 9;
    }
  }
}

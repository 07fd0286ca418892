// blur with a line buffer of two rows, and a window of registers.
using Pixel = unsigned char;
extern "C" void blur_registers(const Pixel* in, Pixel* out, int width, int height) {
#pragma HLS INTERFACE m_axi port = in bundle = in
#pragma HLS INTERFACE m_axi port = out bundle = out
  Pixel rows[2][1024];
  Pixel window[3][5];
#pragma HLS ARRAY_PARTITION variable = rows dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = window dim = 0 complete
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
#pragma HLS PIPELINE II = 1
      const Pixel pixel = in[y * width + x];
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 4; ++i) {
          window[j][i] = window[j][i + 1];
        }
      }
      window[0][4] = rows[0][x];
      window[1][4] = rows[1][x];
      window[2][4] = pixel;
      rows[0][x] = rows[1][x];
      rows[1][x] = pixel;
      int sum = 0;
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 5; ++i) {
          sum += window[j][i];
        }
      }
      if (y > 1 && x > 3) {
        out[(y - 1) * width + x - 2] = sum / 15;
      }
    }
  }
}

// Adds 1 to each number like `narrow`, a 64-byte word per clock cycle: memory bounds the rate.
#include <cstdint>

struct Word {
  std::uint32_t of[16];
};

extern "C" {

void wide(const Word* in, Word* out, unsigned bytes, unsigned sweeps) {
#pragma HLS INTERFACE m_axi port = in offset = slave bundle = in
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = out
  for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
    for (unsigned i = 0; i < bytes / sizeof(Word); ++i) {
#pragma HLS PIPELINE II = 1
      Word word = in[i];
      for (int lane = 0; lane < 16; ++lane) {
#pragma HLS UNROLL
        word.of[lane] += 1;
      }
      out[i] = word;
    }
  }
}
}

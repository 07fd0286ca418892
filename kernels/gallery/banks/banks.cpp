// Adds vectors in three banks of memory: operands in two, result in a third; all work at once.
#include <cstdint>

struct Lanes {
  std::uint32_t of[16];
};

extern "C" {

void banks(const Lanes* a, const Lanes* b, Lanes* sum, int words) {
#pragma HLS INTERFACE m_axi port = a offset = slave bundle = a
#pragma HLS INTERFACE m_axi port = b offset = slave bundle = b
#pragma HLS INTERFACE m_axi port = sum offset = slave bundle = sum
  for (int i = 0; i < words; ++i) {
#pragma HLS PIPELINE II = 1
    const Lanes left = a[i];
    const Lanes right = b[i];
    Lanes made;
    for (int lane = 0; lane < 16; ++lane) {
#pragma HLS UNROLL
      made.of[lane] = left.of[lane] + right.of[lane];
    }
    sum[i] = made;
  }
}
}

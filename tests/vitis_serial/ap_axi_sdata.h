// Stands in for AMD's header of the name: the signals of an AXI4-Stream that the kernels drive.
#pragma once

#include <cstdint>

#include "../../kernels/vitis/hls/word.hpp"

template <int bits, int user, int id, int dest>
struct ap_axiu {
  static_assert(bits == 8 * word_bytes && user == 0 && id == 0 && dest == 0, "only these ports");
  Word data;
  std::uint64_t keep;
  std::uint64_t strb;
  bool last;
};

// Takes a known time by a chain of dependent operations, whose time is proportional to its length.
#pragma once

#include <cstdint>

namespace isthmus {

/// Takes the time of `links` multiplications and additions (about 4 cycles each). The chain starts
/// from `value`, and its end is returned: calls that pass it on do not overlap.
inline std::uint64_t spin(std::uint64_t links, std::uint64_t value) {
  for (std::uint64_t i = 0; i < links; ++i) {
    value = value * 0x5851F42D4C957F2DU + 1;
    asm volatile("" : "+r"(value));
  }
  return value;
}

}  // namespace isthmus

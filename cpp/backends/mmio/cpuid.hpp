// Reads features of the processor. The include of cpuid.h is here because GCC 10's has no include
// guard.
#pragma once

#include <cpuid.h>

namespace isthmus::mmio {

/// Returns a bit of ECX after CPUID; false if the processor lacks this leaf.
inline bool cpuid_ecx(unsigned leaf, unsigned bit) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && ((ecx >> bit) & 1U) != 0;
}

}  // namespace isthmus::mmio

// Properties of the processor. GCC 10's cpuid.h can be included only once, so that the include is
// here.
#pragma once

#include <cpuid.h>

namespace isthmus::mmio {

/// A bit of ECX after CPUID; false if the processor lacks this leaf.
inline bool cpuid_ecx(unsigned leaf, unsigned bit) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && ((ecx >> bit) & 1U) != 0;
}

}  // namespace isthmus::mmio

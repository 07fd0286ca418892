// Finds functions of XRT's library at run time, for the functions that stand in front of them.
#pragma once

#include <dlfcn.h>

#include "real.hpp"

namespace isthmus::card::clock {

/// Returns a function of XRT's library, or null if the program has not loaded the library.
inline void* of_xrt(const char* name) {
  void* const library = dlopen("libxrt_coreutil.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

/// A pointer to a function of XRT's library, found at its first call. `Real` would not find it if
/// the program loaded the library with RTLD_LOCAL.
template <class Function>
using OfXrt = Found<Function, of_xrt>;

}  // namespace isthmus::card::clock

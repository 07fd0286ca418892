// Functions of XRT's library that the clock's library stands in front of, or calls.
#pragma once

#include <dlfcn.h>

#include "real.hpp"

namespace isthmus::card::clock {

/// Returns a function of XRT's library if the program has loaded the library, else null.
inline void* of_xrt(const char* name) {
  void* const library = dlopen("libxrt_coreutil.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

/// A function of XRT's library, which is loaded when the function is called. A program may load
/// the library with RTLD_LOCAL, where `Real` does not find it.
template <class Function>
using OfXrt = Found<Function, of_xrt>;

}  // namespace isthmus::card::clock

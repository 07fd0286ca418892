// Stands in for AMD's header of the name, where that is not there: what a kernel prints is printed.
#pragma once

#include "isthmus_standard.h"

#include <cstdio>

namespace hls {

inline void print(const char* text) { std::fputs(text, stdout); }
/// One value, of an integer or of floating point, as printf has it.
template <class T>
void print(const char* format, T value) {
  std::printf(format, value);
}

}  // namespace hls

// Replaces AMD's header of this name, if that is absent: prints a kernel's values.
#pragma once

#include "isthmus_standard.h"

#include <cstdio>

namespace hls {

inline void print(const char* text) { std::fputs(text, stdout); }
/// Prints an integer or a floating-point number, as printf does.
template <class T>
void print(const char* format, T value) {
  std::printf(format, value);
}

}  // namespace hls

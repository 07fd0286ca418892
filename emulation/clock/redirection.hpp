// Calls that a library makes of its own functions, led to functions of ours in memory.
#pragma once

#include <span>

namespace isthmus::card::clock {

struct Redirection {
  const char* name;  ///< of the function, as the linker knows it
  const void* ours;
  void** original;  ///< where its address is kept, once calls are led
};

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

template <class Function>
Function* as(void* function) {
  return reinterpret_cast<Function*>(function);
}

/// Leads all direct calls of these functions in a library's code to ours, at most 18. It leads
/// none, and keeps no address, where one of them is missing or not called, where no memory is near,
/// or where the code cannot be changed.
void redirect_calls(void* library, std::span<unsigned char> code, std::span<const Redirection> all);

}  // namespace isthmus::card::clock

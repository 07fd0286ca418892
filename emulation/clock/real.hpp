// Finds the real functions of libc and XRT at run time, for the functions that stand in front of
// them. A `Real` is named `real_` and the function; `real_time` and `really_sleep` mean wall time.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace isthmus::card::clock {

/// A pointer to a function that `find` looks up by name at its first call. That may come before any
/// constructor has run.
template <class Function, void* (*find)(const char*)>
class Found {
 public:
  explicit constexpr Found(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(find(name_));
      found_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

inline void* of_next_library(const char* name) { return dlsym(RTLD_NEXT, name); }

/// A pointer to the function of this name in the next library that defines it, e.g. libc.
template <class Function>
using Real = Found<Function, of_next_library>;

}  // namespace isthmus::card::clock

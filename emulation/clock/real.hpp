// The functions of libc that this library stands in front of.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace isthmus::card::clock {

/// A function that `find` looks up by its name at its first call, which may come before any
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

/// A function of the next loaded library that defines it.
template <class Function>
using Real = Found<Function, of_next_library>;

}  // namespace isthmus::card::clock

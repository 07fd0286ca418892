// The functions of libc that this library stands in front of.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace isthmus::card::clock {

/// A function of the next library that has it; found at its first call, which may come before any
/// constructor has run.
template <class Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      found_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace isthmus::card::clock

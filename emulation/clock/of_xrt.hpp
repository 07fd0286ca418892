// Functions of XRT's library that the clock's library stands in front of, or calls.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace isthmus::card::clock {

/// Returns a function of XRT's library if the program has loaded the library, else null.
inline void* of_xrt(const char* name) {
  void* const library = dlopen("libxrt_coreutil.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

/// Such a function, which is there when it is called. A program may load the library for itself
/// alone, where `Real` does not find it.
template <class Function>
class OfXrt {
 public:
  explicit constexpr OfXrt(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(of_xrt(name_));
      found_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace isthmus::card::clock

// What the faulty libraries have in common. ISTHMUS_FAULTY_CALL is n, the number of the call that
// fails, counted in each process; ISTHMUS_FAULTY_LIBRARY the library that all other calls go to;
// ISTHMUS_FAULTY_LOG a file that gets the name of each call that failed.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace isthmus::faulty {

/// Whether this call is the one that fails.
inline bool strikes(const char* name) {
  static std::atomic<long> calls{0};
  const char* chosen = std::getenv("ISTHMUS_FAULTY_CALL");
  const char* log = std::getenv("ISTHMUS_FAULTY_LOG");
  if (chosen == nullptr || ++calls != std::atol(chosen)) {
    return false;
  }
  if (std::FILE* file = log != nullptr ? std::fopen(log, "a") : nullptr; file != nullptr) {
    std::fprintf(file, "%s\n", name);
    std::fclose(file);
  }
  return true;
}

/// The function of this name in the other library; null where it has none.
inline void* installed(const char* name) {
  static void* const object = dlopen(std::getenv("ISTHMUS_FAULTY_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  return object != nullptr ? dlsym(object, name) : nullptr;
}

}  // namespace isthmus::faulty

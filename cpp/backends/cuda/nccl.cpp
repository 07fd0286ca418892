#include "nccl.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "isthmus/backend.hpp"

namespace isthmus::cuda::nccl {
namespace {

void* find(void* object, const std::string& library, const char* name) {
  void* found = dlsym(object, name);
  if (found == nullptr) {
    throw BackendError(library + " lacks " + name + ": it is too old; install NCCL 2.7 or later");
  }
  return found;
}

Api load() {
  const char* named = std::getenv("ISTHMUS_NCCL");
  Api loaded;
  loaded.library = named != nullptr ? named : "libnccl.so.2";
  void* object = dlopen(loaded.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    throw BackendError(std::string("no NCCL: ") + dlerror() +
                       "; install libnccl2, or the wheel nvidia-nccl-cu12 (cu13) beside Isthmus, "
                       "or name the library in ISTHMUS_NCCL");
  }
#define ISTHMUS_FIND(name, result, parameters) \
  loaded.name = reinterpret_cast<result(*) parameters>(find(object, loaded.library, #name));
  ISTHMUS_NCCL_FUNCTIONS(ISTHMUS_FIND)
#undef ISTHMUS_FIND
  return loaded;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

std::string missing() {
  try {
    static_cast<void>(api());
    return {};
  } catch (const BackendError& error) {
    return error.what();
  }
}

std::string version() {
  int code = 0;
  check(api().ncclGetVersion(&code), "ncclGetVersion");
  // Up to 2.8 a code like 2709 means 2.7.9; since 2.9 it has two digits each: 22105 is 2.21.5.
  const int digits = code < 10000 ? 10 : 100;
  const int major = code / (digits * 100);
  return std::to_string(major) + "." + std::to_string(code / 100 % digits) + "." +
         std::to_string(code % 100);
}

void check(Status status, const char* call) {
  if (status != ok) [[unlikely]] {
    throw BackendError(std::string(call) + ": " + api().ncclGetErrorString(status) + " (" +
                       std::to_string(status) + "); NCCL_DEBUG=WARN tells more");
  }
}

}  // namespace isthmus::cuda::nccl

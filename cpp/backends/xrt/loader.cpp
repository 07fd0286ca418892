// The backend's shared object. It opens the installed XRT by name, then the library that calls XRT.
// Neither is linked with XRT, so that both can be installed without it.
#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "isthmus/backend.hpp"

namespace isthmus {
namespace {

constexpr const char* runtime = "libxrt_coreutil.so.2";
constexpr const char* caller = "libisthmus_xrt_native.so";

std::filesystem::path place_of(const void* symbol) {
  Dl_info found{};
  return dladdr(symbol, &found) == 0 ? "" : found.dli_fname;
}

/// Opens XRT and the library that calls it, and returns the backend of that library. Throws
/// BackendError if XRT is missing or lacks functions.
Backend* bound() {
  void* xrt = dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
  if (xrt == nullptr) {
    throw BackendError(dlerror());
  }
  const auto path = place_of(reinterpret_cast<const void*>(&bound)).replace_filename(caller);
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const std::string reason = dlerror();
    const auto installed = place_of(dlsym(xrt, "xrtDeviceOpen"));
    throw BackendError(std::filesystem::weakly_canonical(installed).filename().string() +
                       " cannot be used by a build for XRT " ISTHMUS_XRT_VERSION ": " +
                       reason.substr(reason.find(": ") + 2) +
                       "; install that version or a newer one");
  }
  return reinterpret_cast<Backend* (*)()>(dlsym(object, "isthmus_backend"))();
}

}  // namespace
}  // namespace isthmus

extern "C" __attribute__((visibility("default"))) int isthmus_backend_abi() {
  return isthmus::backend_abi;
}
extern "C" __attribute__((visibility("default"))) isthmus::Backend* isthmus_backend() {
  return isthmus::bound();
}

// Linked to an OpenCL loader, in whose place it is loaded: names of platforms and devices begin
// with a byte that is no UTF-8.
#include <dlfcn.h>

#include <cstddef>

namespace {

constexpr unsigned platform_name = 0x0902;
constexpr unsigned device_name = 0x102b;
constexpr char registered = '\xae';

using Ask = int (*)(void*, unsigned, std::size_t, void*, std::size_t*);

int spoilt(const char* function, unsigned name, void* object, unsigned what, std::size_t bytes,
           void* text, std::size_t* needed) {
  const int result =
      reinterpret_cast<Ask>(dlsym(RTLD_NEXT, function))(object, what, bytes, text, needed);
  if (result == 0 && what == name && text != nullptr && bytes > 1) {
    *static_cast<char*>(text) = registered;
  }
  return result;
}

}  // namespace

extern "C" {
int clGetPlatformInfo(void* platform, unsigned what, std::size_t bytes, void* text,
                      std::size_t* needed) {
  return spoilt("clGetPlatformInfo", platform_name, platform, what, bytes, text, needed);
}
int clGetDeviceInfo(void* device, unsigned what, std::size_t bytes, void* text,
                    std::size_t* needed) {
  return spoilt("clGetDeviceInfo", device_name, device, what, bytes, text, needed);
}
}

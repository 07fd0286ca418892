#include "api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "isthmus/backend.hpp"

namespace isthmus::cuda {
namespace {

struct Advice {
  Result code;
  const char* text;
};

/// What a user can do about some errors; the message of any other error is the driver's text alone.
constexpr std::array advice = {
    Advice{2,
           "not enough memory on the device, or to be locked on the host: choose smaller sizes, or "
           "end other programs that use the GPU"},
    Advice{3, "the driver could not start: see dmesg; reload its kernel modules or restart"},
    Advice{34, "this library is the toolkit's stub: put the driver's own libcuda.so.1 before it"},
    Advice{
        46,
        "the GPU is in exclusive use or closed to computing: see its compute mode in nvidia-smi"},
    Advice{100,
           "this driver has no GPU to offer: see nvidia-smi and CUDA_VISIBLE_DEVICES; a container "
           "must be given the GPU (docker run --gpus all)"},
    Advice{101, "there is no such GPU: see CUDA_VISIBLE_DEVICES"},
    Advice{218, "the driver does not accept this PTX: update the driver"},
    Advice{221,
           "libnvidia-ptxjitcompiler.so.1 is missing: install it, or give the container the "
           "driver's 'compute' capability"},
    Advice{222, "the driver is older than this PTX: update the driver"},
    Advice{712, "this memory is page-locked already"},
    Advice{802, "the system is not ready yet: on machines with NVSwitch, start the fabric manager"},
    Advice{803, "kernel driver and libcuda.so.1 are of different versions: restart the machine"},
    Advice{
        804,
        "a compatibility libcuda.so.1 is found first, and this GPU does not support it: remove it"},
    Advice{999, "see dmesg; often /dev/nvidia-uvm is missing (nvidia-modprobe -u makes it)"},
};

/// Errors after which every call of this process fails, because its context is damaged or the GPU
/// lost.
constexpr std::array lost = {214, 220, 226, 700, 702, 709, 710, 714,
                             715, 716, 717, 718, 719, 806, 810, 911};

/// Returns what `ask` (cuGetErrorName or cuGetErrorString) says of an error code.
std::string error_text(Result code, Result (*ask)(Result, const char**)) {
  const char* text = nullptr;
  return ask(code, &text) == success && text != nullptr ? text : "unknown error";
}

void* find(void* object, const std::string& library, const char* symbol) {
  void* found = dlsym(object, symbol);
  if (found == nullptr) {
    throw BackendError(library + " lacks " + symbol +
                       ": the driver is too old; install 470 (CUDA 11.4) or later");
  }
  return found;
}

Api load() {
  const char* named = std::getenv("ISTHMUS_CUDA_DRIVER");
  Api loaded;
  loaded.library = named != nullptr ? named : "libcuda.so.1";
  void* object = dlopen(loaded.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    throw BackendError(std::string("no CUDA driver: ") + dlerror() +
                       "; install NVIDIA's driver, or give the container the GPU");
  }
#define ISTHMUS_FIND(name, symbol, parameters) \
  loaded.name = reinterpret_cast<Result(*) parameters>(find(object, loaded.library, #symbol));
  ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_FIND)
#undef ISTHMUS_FIND
#define ISTHMUS_LOOK_FOR(name, symbol, parameters) \
  loaded.name = reinterpret_cast<Result(*) parameters>(dlsym(object, #symbol));
  ISTHMUS_CUDA_LATER_FUNCTIONS(ISTHMUS_LOOK_FOR)
#undef ISTHMUS_LOOK_FOR
  return loaded;
}

const Api& loaded_api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace

const Api& api() {
  const Api& loaded = loaded_api();
  static const Result begun = loaded.cuInit(0);
  check(begun, "cuInit");
  return loaded;
}

void fail(Result code, const char* call) {
  const Api& loaded = loaded_api();
  const auto* known = std::ranges::find(advice, code, &Advice::code);
  const std::string meaning =
      known != advice.end() ? known->text : error_text(code, loaded.cuGetErrorString);
  const std::string message = std::string(call) + ": " + error_text(code, loaded.cuGetErrorName) +
                              " (" + std::to_string(code) + "): " + meaning;
  if (std::ranges::find(lost, code) != lost.end()) {
    throw DeviceLostError("device lost: " + message + "; see dmesg for an Xid of the driver");
  }
  throw BackendError(message);
}

}  // namespace isthmus::cuda

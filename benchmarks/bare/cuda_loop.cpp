// cuda_loop read|write BYTES pinned|pageable DEVICE SECONDS: median seconds of one blocking copy.
//
// cuMemcpyHtoD or cuMemcpyDtoH in the primary context, from the driver opened here; after a copy
// from pageable memory to the device, which may return early, the stream is waited for. That is
// what Isthmus times, without Isthmus.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "median.hpp"

static void* driver() {
  const char* named = std::getenv("ISTHMUS_CUDA_DRIVER");
  static void* opened = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
  if (opened == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return opened;
}

template <class... Arguments>
static auto function(const char* symbol) {
  return reinterpret_cast<int (*)(Arguments...)>(dlsym(driver(), symbol));
}

static void check(int code) {
  if (code != 0) {
    std::fprintf(stderr, "CUDA error %d\n", code);
    std::exit(1);
  }
}

int main(int, char** arguments) {
  using Address = unsigned long long;
  const bool write = std::strcmp(arguments[1], "write") == 0;
  const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  const bool pinned = std::strcmp(arguments[3], "pinned") == 0;
  const int index = std::atoi(arguments[4]);
  const double seconds = std::atof(arguments[5]);

  int device = 0;
  void* context = nullptr;
  check(function<unsigned>("cuInit")(0));
  check(function<int*, int>("cuDeviceGet")(&device, index));
  check(function<void**, int>("cuDevicePrimaryCtxRetain")(&context, device));
  check(function<void*>("cuCtxSetCurrent")(context));
  Address buffer = 0;
  check(function<Address*, std::size_t>("cuMemAlloc_v2")(&buffer, bytes));
  void* host = nullptr;
  if (pinned) {
    check(function<void**, std::size_t, unsigned>("cuMemHostAlloc")(&host, bytes, 0));
  } else if (posix_memalign(&host, 4096, bytes) != 0) {
    return 1;
  }
  std::memset(host, 1, bytes);

  const auto up = function<Address, const void*, std::size_t>("cuMemcpyHtoD_v2");
  const auto down = function<void*, Address, std::size_t>("cuMemcpyDtoH_v2");
  const auto wait = function<void*>("cuStreamSynchronize");
  const auto transfer = [&] {
    if (write) {
      check(up(buffer, host, bytes));
      if (!pinned) {
        check(wait(nullptr));
      }
    } else {
      check(down(host, buffer, bytes));
    }
  };
  check(up(buffer, host, bytes));
  transfer();
  std::printf("%.9e\n", median_over(seconds, [&] { return timed(transfer); }));
}

// Types that the host programs of the gallery share: a card with a kernel, and a buffer with the
// same data on host and card.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

struct Card {
  xrt::device device{0};
  xrt::uuid uuid;
  xrt::kernel kernel;

  /// `access`: a program that reads registers of a kernel needs exclusive access to it.
  Card(const char* xclbin, const char* name,
       xrt::kernel::cu_access_mode access = xrt::kernel::cu_access_mode::shared)
      : uuid(device.load_xclbin(std::string(xclbin))), kernel(device, uuid, name, access) {}
};

template <class T>
struct Buffer {
  std::vector<T> here;
  xrt::bo there;

  /// A buffer for one argument of the card's kernel, filled with `first`, `first` + 1, ...
  Buffer(Card& card, int argument, std::size_t elements, int first)
      : Buffer(card.device, card.kernel.group_id(argument), elements, first) {}
  Buffer(const xrt::device& device, xrt::memory_group group, std::size_t elements, int first)
      : here(elements), there(device, elements * sizeof(T), group) {
    for (T& element : here) {
      element = static_cast<T>(first++);
    }
    std::copy(here.begin(), here.end(), there.map<T*>());
    there.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  bool same() {
    there.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return std::equal(here.begin(), here.end(), there.map<T*>());
  }
};

/// Runs `test` with the xclbin that the command line names; prints PASS if it returns true.
template <class Test>
int judged(int count, char** given, const Test& test) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FILE.xclbin\n", given[0]);
    return 2;
  }
  try {
    const bool same = test(given[1]);
    std::puts(same ? "PASS" : "FAIL: the card's data are not those of the function");
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}

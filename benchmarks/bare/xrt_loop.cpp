// xrt_loop write|read BYTES SECONDS XCLBIN: median seconds of one sync of a buffer object.
//
// The first device, the first memory, the buffer's own host side: what Isthmus times, without
// Isthmus.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "median.hpp"

int main(int, char** arguments) {
  const bool write = std::strcmp(arguments[1], "write") == 0;
  const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  const double seconds = std::atof(arguments[3]);
  const xclBOSyncDirection direction =
      write ? XCL_BO_SYNC_BO_TO_DEVICE : XCL_BO_SYNC_BO_FROM_DEVICE;

  xrt::device device(0);
  device.load_xclbin(std::string(arguments[4]));
  xrt::bo buffer(device, bytes, xrt::bo::flags::normal, 0);
  std::memset(buffer.map(), 1, bytes);

  const auto each_of = [&](std::size_t calls) {
    const double whole = timed([&] {
      for (std::size_t i = 0; i < calls; ++i) {
        buffer.sync(direction, bytes, 0);
      }
    });
    return whole / static_cast<double>(calls);
  };
  each_of(1);
  // Enough calls between two clock readings that the clock is below 1 % of them.
  const std::size_t calls = 1 + static_cast<std::size_t>(10e-6 / each_of(25));
  std::printf("%.9e\n", median_over(seconds, [&] { return each_of(calls); }));
}

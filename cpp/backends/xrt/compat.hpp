// Includes XRT's headers and hides the differences between XRT 2.13 and newer versions.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#if __has_include(<xrt/experimental/xrt_xclbin.h>)  // versions after 2.18 moved this header
#include <xrt/experimental/xrt_ip.h>
#include <xrt/experimental/xrt_system.h>
#include <xrt/experimental/xrt_xclbin.h>
#else
#include <experimental/xrt_ip.h>
#include <experimental/xrt_system.h>
#include <experimental/xrt_xclbin.h>
#endif

#include <exception>
#include <span>
#include <string>

#include "together.hpp"

namespace isthmus::xrt_native {

/// Whether this XRT declares transfers that do not wait (since 2.14); a device may still refuse
/// them.
template <class Bo>
concept StartsTransfers = requires(Bo& bo) { bo.async(XCL_BO_SYNC_BO_TO_DEVICE).wait(); };

/// Starts a transfer of each buffer, then waits for all of them.
template <class Bo>
void transfer_together(std::span<Bo> buffers, xclBOSyncDirection direction) {
  if constexpr (StartsTransfers<Bo>) {
    start_together(buffers, [direction](Bo& buffer) { return buffer.async(direction); });
  }
}

/// Returns whether the buffer's device starts transfers without waiting, found by a trial.
template <class Bo>
bool can_start(Bo& buffer) {
  if constexpr (StartsTransfers<Bo>) {
    try {
      buffer.async(XCL_BO_SYNC_BO_TO_DEVICE).wait();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  return false;
}

#pragma GCC diagnostic push
// XRT deprecates this call in favour of contexts, which 2.13 lacks.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Programs the device with the bitstream; if it is loaded already, only attaches this process to
/// it.
inline xrt::uuid load(xrt::device& device, const xrt::xclbin& image) {
  return device.load_xclbin(image);
}

inline xrt::kernel open_kernel(const xrt::device& device, const xrt::uuid& image,
                               const std::string& name) {
  return {device, image, name};
}

#pragma GCC diagnostic pop

}  // namespace isthmus::xrt_native

// The vector addition through OpenCL, phase by phase.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "isthmus/offload.hpp"
#include "objects.hpp"

namespace isthmus::cl {

struct Target {
  DeviceId device = nullptr;
  std::string binary;  ///< file with the kernel; empty: the device compiles source
};

/// Describes a device's offloads; `shares_pointers` says whether it has coarse-grained shared
/// virtual memory.
std::vector<OperationInfo> offloads(bool shares_pointers);
bool shares_pointers(DeviceId device);

/// Creates the offload. `choose` finds the device, in the first timed phase.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<Target()> choose);

}  // namespace isthmus::cl

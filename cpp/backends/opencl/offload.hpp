// The vector addition in OpenCL, phase by phase.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "isthmus/offload.hpp"
#include "objects.hpp"

namespace isthmus::cl {

struct Target {
  DeviceId device = nullptr;
  std::string binary;  ///< empty: compiles source
};

/// Offloads of a device; `shares_pointers`: whether it has coarse-grained shared virtual memory.
std::vector<OperationInfo> offloads(bool shares_pointers);
bool shares_pointers(DeviceId device);

/// `choose` finds the device; it is the first timed step.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<Target()> choose);

}  // namespace isthmus::cl

// The vector add in OpenCL, phase by phase.
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

/// What a device can be asked; `shares_pointers`: has coarse-grained shared virtual memory.
std::vector<OperationInfo> offloads(bool shares_pointers);
bool shares_pointers(DeviceId device);

/// `choose` looks the device up: the first that is done, and timed.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<Target()> choose);

}  // namespace isthmus::cl

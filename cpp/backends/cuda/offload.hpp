// The vector addition on a GPU through CUDA's driver API, phase by phase.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isthmus/offload.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

std::vector<OperationInfo> offloads(DeviceId device);
/// Creates the offload. `choose` starts the driver and finds the device, in the first timed phase.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<DeviceId()> choose);

}  // namespace isthmus::cuda

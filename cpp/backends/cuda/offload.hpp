// The vector add in CUDA, phase by phase.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isthmus/offload.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

std::vector<OperationInfo> offloads(DeviceId device);
/// `choose` starts the driver and looks the device up: the first that is done, and timed.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<DeviceId()> choose);

}  // namespace isthmus::cuda

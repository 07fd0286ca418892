// The vector addition in CUDA, phase by phase.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isthmus/offload.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

std::vector<OperationInfo> offloads(DeviceId device);
/// `choose` starts the driver and finds the device; it is the first timed step.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<DeviceId()> choose);

}  // namespace isthmus::cuda

// Exchanges between GPUs of one host, in which each GPU writes to another's memory.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

inline constexpr const char* peer_channel = "cuda";

/// Describes `exchange` over channel `cuda`; empty if the device cannot map host memory.
std::vector<OperationInfo> peer_operations(DeviceId device);
std::unique_ptr<JointOperation> make_peer_exchange(Session& session, const OperationSpec& spec,
                                                   Communicator& communicator);

}  // namespace isthmus::cuda

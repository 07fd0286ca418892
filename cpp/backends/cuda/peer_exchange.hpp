// Messages between the memories of GPUs of one host, over any connection.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

inline constexpr const char* peer_channel = "cuda";

/// `exchange` over channel `cuda`.
std::vector<OperationInfo> peer_operations(DeviceId device);
std::unique_ptr<JointOperation> make_peer_exchange(Session& session, const OperationSpec& spec,
                                                   Communicator& communicator);

}  // namespace isthmus::cuda

// Joint operations of GPUs with those of other ranks: one entry for each channel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/joint.hpp"
#include "isthmus/staged.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// Joint operations over every channel that this GPU has.
std::vector<OperationInfo> joint_operations(DeviceId device);

/// The operation over the channel that axis `channel` names; null for the channel through the host,
/// which any device has.
std::unique_ptr<JointOperation> make_joint(Session& session, const OperationSpec& spec,
                                           Communicator& communicator);

/// Creates the buffers for the channel through the host.
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::cuda

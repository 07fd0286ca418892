// Operations that GPUs of several ranks execute together, over each channel between GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/joint.hpp"
#include "isthmus/staged.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// Describes the joint operations over every channel that this GPU has.
std::vector<OperationInfo> joint_operations(DeviceId device);

/// Creates the operation over the channel that axis `channel` names. Returns null for the channel
/// through the host, which `Device::join` makes for any device.
std::unique_ptr<JointOperation> make_joint(Session& session, const OperationSpec& spec,
                                           Communicator& communicator);

/// Creates a device buffer and a staging buffer for the channel through the host.
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::cuda

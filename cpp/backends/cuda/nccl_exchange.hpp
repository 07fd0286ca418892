// Exchanges over NCCL, with grouped sends and receives as in ordinary programs.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

inline constexpr const char* nccl_channel = "nccl";

/// Describes `exchange` over channel `nccl`; empty if NCCL cannot be used.
std::vector<OperationInfo> nccl_operations(DeviceId device);
std::unique_ptr<JointOperation> make_nccl_exchange(Session& session, const OperationSpec& spec,
                                                   Communicator& communicator);

}  // namespace isthmus::cuda

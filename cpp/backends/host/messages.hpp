// Messages between host memories of ranks: channel `mpi`, the reference.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/joint.hpp"

namespace isthmus {

std::vector<OperationInfo> message_operations();
/// Throws UsageError for an operation that is not one of them.
std::unique_ptr<JointOperation> make_message_operation(const OperationSpec& spec,
                                                       Communicator& communicator);

}  // namespace isthmus

// Messages from host memory to host memory of other ranks: channel `mpi`, the reference.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/joint.hpp"

namespace isthmus {

std::vector<OperationInfo> message_operations();
/// Throws UsageError for an operation that is not among them.
std::unique_ptr<JointOperation> make_message_operation(const OperationSpec& spec,
                                                       Communicator& communicator);

}  // namespace isthmus

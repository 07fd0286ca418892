// Messages between host memories of ranks: channel `mpi`, with which other channels are compared.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/joint.hpp"

namespace isthmus {

std::vector<OperationInfo> message_operations();
/// Creates an operation of this channel; throws UsageError if none has the name.
std::unique_ptr<JointOperation> make_message_operation(const OperationSpec& spec,
                                                       Communicator& communicator);

}  // namespace isthmus

// Operations by kernels that the runtime compiles from Isthmus' source.
#pragma once

#include <memory>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Returns the number of work items: enough to occupy the device, no more than a small buffer
/// needs.
std::size_t work_items(const Session& session, std::size_t bytes);

/// Creates `launch`, `kernel_read`, `kernel_write` or a kernel of study hostmem; returns null for
/// another operation.
std::unique_ptr<Operation> make_kernel_operation(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

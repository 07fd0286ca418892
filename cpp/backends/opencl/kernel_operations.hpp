// Operations in which a kernel does the work.
#pragma once

#include <memory>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Work items that keep the device busy without asking more of small buffers than they hold.
std::size_t work_items(const Session& session, std::size_t bytes);

/// `launch`, `kernel_read`, `kernel_write` or one of the kernels of the study hostmem; nothing for
/// another operation.
std::unique_ptr<Operation> make_kernel_operation(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

// Operations in which a kernel does the work.
#pragma once

#include <memory>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Number of work items: enough to keep the device busy, without more than a small buffer needs.
std::size_t work_items(const Session& session, std::size_t bytes);

/// `launch`, `kernel_read`, `kernel_write` or a kernel of the study hostmem; null for another
/// operation.
std::unique_ptr<Operation> make_kernel_operation(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

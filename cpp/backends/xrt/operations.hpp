// What the native XRT backend can be asked to do; one maker for each operation of its table.
#pragma once

#include <memory>
#include <vector>

#include "session.hpp"

namespace isthmus::xrt_native {

std::vector<OperationInfo> operations(const Contents& contents);

/// Throws UsageError for an operation that is not in the table.
std::unique_ptr<Operation> make_operation(const Session& session, const OperationSpec& spec);

}  // namespace isthmus::xrt_native

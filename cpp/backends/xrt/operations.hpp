// Operations of the native XRT backend; one maker for each operation of its table.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/staged.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

std::vector<OperationInfo> operations(const Contents& contents);

/// Throws UsageError for an operation that is not in the table.
std::unique_ptr<Operation> make_operation(const Session& session, const OperationSpec& spec);

/// The exchange through the host, and its buffers.
OperationInfo exchange_through_host(const Contents& contents);
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::xrt_native

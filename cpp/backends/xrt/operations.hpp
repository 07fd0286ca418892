// The operations of the native XRT backend, and the functions that create them.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/staged.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

std::vector<OperationInfo> operations(const Contents& contents);

/// Creates an operation; throws UsageError if none has the name.
std::unique_ptr<Operation> make_operation(const Session& session, const OperationSpec& spec);

/// Describes the exchange through the host, and creates the buffers for it.
OperationInfo exchange_through_host(const Contents& contents);
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::xrt_native

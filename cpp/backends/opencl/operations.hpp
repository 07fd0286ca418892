// Operations of the OpenCL backend; one maker for each operation of its table.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/staged.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// The operations of a device; those with kernels only if the device has them.
std::vector<OperationInfo> operations(const std::function<bool(const char*)>& has_kernel,
                                      const std::string& initiator);

/// Throws UsageError for an operation that is not in the table.
std::unique_ptr<Operation> make_operation(Session& session, const OperationSpec& spec);

/// Creates the buffers for the channel through the host.
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::cl

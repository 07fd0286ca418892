// The operations of the OpenCL backend, and the functions that create them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/staged.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Describes a device's operations; those by kernels only if the device has the kernels.
std::vector<OperationInfo> operations(const std::function<bool(const char*)>& has_kernel,
                                      const std::string& initiator);

/// Creates an operation; throws UsageError if none has the name.
std::unique_ptr<Operation> make_operation(Session& session, const OperationSpec& spec);

/// Creates a device buffer and a staging buffer for the channel through the host.
std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes);

}  // namespace isthmus::cl

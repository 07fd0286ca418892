// Operations on registers of the bitstream's kernels through xrt::ip, if the user permits them.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/access.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// Describes the permitted operations. The user names registers by `--registers KERNEL:OFFSET`, and
/// by `--memory KERNEL:OFFSET+BYTES` arguments of a kernel that does not run: these may be stored
/// to.
std::vector<OperationInfo> register_operations(const Permission& permission);

/// Throws UsageError for a range that XRT does not accept. Throws BackendError if XRT refuses the
/// kernel, because another program uses it or the shim has no registers.
void check_registers(const Session& session, const Permission& permission);

/// Creates one of these operations; returns null for another operation.
std::unique_ptr<Operation> make_register_operation(const Session& session,
                                                   const Permission& permission,
                                                   const OperationSpec& spec);

}  // namespace isthmus::xrt_native

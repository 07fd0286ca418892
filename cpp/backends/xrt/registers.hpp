// Registers of the bitstream's kernels through xrt::ip, if the user permits access.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/access.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// Permitted operations. `--registers KERNEL:OFFSET` and `--memory KERNEL:OFFSET+BYTES` name
/// registers; the latter may be stored to, as arguments of a kernel that does not run.
std::vector<OperationInfo> register_operations(const Permission& permission);

/// Throws UsageError for a range that XRT does not accept, BackendError if it refuses the kernel,
/// which must not be in use; a shim without a card has no registers.
void check_registers(const Session& session, const Permission& permission);

/// Returns null for another operation.
std::unique_ptr<Operation> make_register_operation(const Session& session,
                                                   const Permission& permission,
                                                   const OperationSpec& spec);

}  // namespace isthmus::xrt_native

// Registers of the bitstream's kernels, through xrt::ip, as far as the user lets them be touched.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/access.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// What may be done. `--registers KERNEL:OFFSET` and `--memory KERNEL:OFFSET+BYTES` name registers;
/// the latter says that they can be stored to, as arguments of a kernel that does not run.
std::vector<OperationInfo> register_operations(const Permission& permission);

/// Throws UsageError for a range that XRT does not take, BackendError where it refuses the kernel:
/// it must be in use by nobody, and a shim without a card has no registers.
void check_registers(const Session& session, const Permission& permission);

/// Nothing for an operation that is none of these.
std::unique_ptr<Operation> make_register_operation(const Session& session,
                                                   const Permission& permission,
                                                   const OperationSpec& spec);

}  // namespace isthmus::xrt_native

// Finds outputs of kernels that the program does not read, or does not read in full.
#pragma once

#include <optional>

#include "isthmus/card/process/buffer_use.hpp"
#include "isthmus/card/process/call_record.hpp"
#include "isthmus/card/process/host_fault.hpp"

namespace isthmus::card::process {

/// Returns the mistake that the program made with the output in a buffer, if any. Call it before
/// another run writes to the buffer, or at the buffer's end (`is_last`).
///
/// An output at which the program never looks is no mistake: benchmarks leave outputs alone. OpenCL
/// does not show where a program looks, so there it looks at what it has not sent. Without `looks`
/// the program counts as looking at every buffer.
std::optional<HostFault> fault_of_output(const BufferUse& use, HostLooks* looks, bool is_last);

}  // namespace isthmus::card::process

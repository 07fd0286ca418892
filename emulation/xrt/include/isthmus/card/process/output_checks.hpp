// Outputs of kernels that the program does not read, or reads in part.
#pragma once

#include <optional>

#include "isthmus/card/process/buffer_use.hpp"
#include "isthmus/card/process/call_record.hpp"
#include "isthmus/card/process/host_fault.hpp"

namespace isthmus::card::process {

/// Returns the mistake in how the program has read the output that a buffer holds, before another
/// run writes to it, or the buffer's end (`is_last`).
///
/// An output that the program never looks at is no mistake: benchmarks leave outputs alone. OpenCL
/// does not say where a program looks: there it counts for what the program has not sent. Without
/// `looks` the program counts as one that looks at each buffer.
std::optional<HostFault> fault_of_output(const BufferUse& use, HostLooks* looks, bool is_last);

}  // namespace isthmus::card::process

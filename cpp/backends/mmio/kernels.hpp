// Loops of one load or store instruction in assembly, so that no compiler changes what is timed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/access.hpp"

namespace isthmus::mmio {

/// Accesses `bytes` from `at`, `repetitions` times. Stores write the 64 bytes at `line`, a multiple
/// of 64. Besides the access, each turn of the loop has an add, a compare and a jump: about a
/// cycle.
using Loop = void (*)(std::byte* at, std::size_t bytes, std::uint64_t repetitions,
                      const std::byte* line);

/// Returns the loop for an access to memory; nullptr if none exists or this processor lacks the
/// instruction.
Loop loop_of(const Access& access);

}  // namespace isthmus::mmio

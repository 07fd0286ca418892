// Loops of a single load or store instruction in assembly: the timed instruction is exactly the
// stated one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/access.hpp"

namespace isthmus::mmio {

/// Accesses `bytes` from `at`, `repetitions` times. Stores write from `line`, 64 bytes at a
/// multiple of 64. Beside the access, each turn of the loop costs an add, a compare and a jump:
/// about a cycle.
using Loop = void (*)(std::byte* at, std::size_t bytes, std::uint64_t repetitions,
                      const std::byte* line);

/// The loop of an access to memory; nullptr if there is none, or this processor lacks the
/// instruction.
Loop loop_of(const Access& access);

}  // namespace isthmus::mmio

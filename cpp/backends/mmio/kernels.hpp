// Loops of one load or store instruction, written in assembly: what is timed is what is claimed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/access.hpp"

namespace isthmus::mmio {

/// Goes through `bytes` from `at`, `repetitions` times. Stores take what they store from `line`, 64
/// bytes at a multiple of 64. Beside the access each turn of the loop costs an add, a compare and a
/// jump: about a cycle.
using Loop = void (*)(std::byte* at, std::size_t bytes, std::uint64_t repetitions,
                      const std::byte* line);

/// The loop of an access to memory; nullptr where there is none, or this processor lacks it.
Loop loop_of(const Access& access);

}  // namespace isthmus::mmio

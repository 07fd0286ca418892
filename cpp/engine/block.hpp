// What every series does with its blocks.
#pragma once

#include <string>

#include "isthmus/engine.hpp"

namespace isthmus {

double seconds_since(Ticks begin);

/// Data did not arrive in the repetition `when`; `known`: what the device has to say of it.
void note_fault(Block& block, const std::string& known, const char* when);

template <class AnyOperation>
void note(Block& block, const AnyOperation& operation, bool arrived, const char* when) {
  if (!arrived) {
    note_fault(block, operation.fault(), when);
  }
}

/// Seed of a full verification, from a fresh stamp. The low byte is fresh too: it is all that a
/// one-byte buffer holds.
constexpr std::uint64_t seed_of(std::uint64_t stamp) { return stamp * 0x9E3779B97F4A7C15U; }

/// A longer batch than one that `took` so long, on the way to one that takes `aim`.
std::uint64_t longer_batch(std::uint64_t batch, double took, double aim);

}  // namespace isthmus

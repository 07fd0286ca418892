// How fast the host is at this time: fixed work that no device takes part in, timed.
#pragma once

#include <cstddef>

#include "isthmus/buffer.hpp"

namespace isthmus {

/// Seconds of one operation of each reference.
struct HostSpeed {
  double system_call_s = 0;  ///< one getppid
  double copy_s = 0;         ///< one copy of `HostReferences::copy_bytes`
  double arithmetic_s = 0;   ///< `HostReferences::arithmetic_steps` dependent steps
};

/// The references of a process: their buffers live as long as the object.
class HostReferences {
 public:
  static constexpr std::size_t copy_bytes = std::size_t{4} << 20U;
  /// A multiplication and an addition each, which wait for the step before: about 5 us.
  static constexpr unsigned arithmetic_steps = 5'000;

  /// Takes and touches memory, which follows the memory policy of the calling thread. Throws
  /// std::bad_alloc.
  HostReferences();

  /// Medians of a few repetitions each, so that a single interruption changes nothing.
  [[nodiscard]] HostSpeed read();

 private:
  HostBuffer from_;
  HostBuffer to_;
};

}  // namespace isthmus

// Measures how fast the host is at the moment, by the time of fixed work without any device.
#pragma once

#include <cstddef>
#include <span>

namespace isthmus {

/// Seconds that each kind of fixed work takes once.
struct HostSpeed {
  double system_call_s = 0;  ///< one getppid
  double copy_s = 0;         ///< one copy of `HostReferences::copy_bytes`
  double arithmetic_s = 0;   ///< `HostReferences::arithmetic_steps` dependent steps
};

/// The fixed work and its memory. Several processes may map the same file as memory: that takes
/// half a millisecond instead of 1 to 20 ms for new pages, and all copy between the same pages.
class HostReferences {
 public:
  static constexpr std::size_t copy_bytes = std::size_t{4} << 20U;
  /// Dependent steps, each a multiplication and an addition: about 5 us.
  static constexpr unsigned arithmetic_steps = 5'000;

  /// Maps the file `descriptor`, which is empty or already in use by references, or a new file if
  /// it is negative. The first process that maps it allocates the pages, by its thread's memory
  /// policy. Throws std::bad_alloc.
  explicit HostReferences(int descriptor = -1);
  HostReferences(const HostReferences&) = delete;
  HostReferences& operator=(const HostReferences&) = delete;
  ~HostReferences();

  /// Returns medians of several repetitions, which a single interruption does not change.
  [[nodiscard]] HostSpeed read();

 private:
  std::span<std::byte> from_;
  std::span<std::byte> to_;
};

}  // namespace isthmus

// Present speed of the host: times of fixed work without any device.
#pragma once

#include <cstddef>
#include <span>

namespace isthmus {

/// Seconds of one operation of each reference.
struct HostSpeed {
  double system_call_s = 0;  ///< one getppid
  double copy_s = 0;         ///< one copy of `HostReferences::copy_bytes`
  double arithmetic_s = 0;   ///< `HostReferences::arithmetic_steps` dependent steps
};

/// The references in a process. Their memory is a file that further processes can map: that takes
/// half a millisecond instead of one to twenty for new pages, and all processes copy between the
/// same pages.
class HostReferences {
 public:
  static constexpr std::size_t copy_bytes = std::size_t{4} << 20U;
  /// Dependent steps, each a multiplication and an addition: about 5 us.
  static constexpr unsigned arithmetic_steps = 5'000;

  /// Maps the file `descriptor`, which is empty or belongs to other references; a new file if
  /// negative. The first process that maps it allocates its pages, by the memory policy of the
  /// thread. Throws std::bad_alloc.
  explicit HostReferences(int descriptor = -1);
  HostReferences(const HostReferences&) = delete;
  HostReferences& operator=(const HostReferences&) = delete;
  ~HostReferences();

  /// Medians of a few repetitions each, so that a single interruption changes nothing.
  [[nodiscard]] HostSpeed read();

 private:
  std::span<std::byte> from_;
  std::span<std::byte> to_;
};

}  // namespace isthmus

// AMD's published bandwidth kernels as operations, for any runtime that can launch them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {

/// Sweeps over the buffers in one launch of AMD's published example.
inline constexpr unsigned published_sweeps = 1024;
/// Kernels of that example, in the order of `bandwidth_kernels`.
inline constexpr std::array<std::string_view, 3> bandwidth_kernel_names = {
    "read_bandwidth", "write_bandwidth", "bandwidth"};
[[nodiscard]] bool is_bandwidth_kernel(std::string_view name);

/// Describes kernels `read_bandwidth`, `write_bandwidth` and `bandwidth` (reads and writes at
/// once), which sweep over memory of the target `host` or `device`. Axis `iterations` is the number
/// of sweeps.
std::vector<OperationInfo> bandwidth_kernels(const std::string& target,
                                             const std::vector<std::string>& memory_kinds,
                                             const std::string& implementation,
                                             unsigned usual_iterations = published_sweeps);

/// The results to expect of a kernel that sums a buffer's words in every sweep. In the last of an
/// even number of sweeps it adds the words twice. Each worker (block or work item) returns its sum
/// plus one, times a key.
class KernelSum {
 public:
  /// Computes the sum for a buffer that contains the pattern of `seed`.
  void expect(std::size_t bytes, std::uint64_t seed, std::uint64_t sweeps) {
    sum_ = pattern_sum(bytes, seed) * (sweeps | 1U);
  }
  /// Returns the seed of the pattern to read. It is odd, because an even one could give a short
  /// buffer the sum 0, like a kernel that reads nothing.
  [[nodiscard]] static std::uint64_t contents(std::uint64_t seed) { return seed | 1U; }
  /// Returns a launch's key, which shows results of an earlier launch. It is odd, because a product
  /// with an even key would lose bits.
  [[nodiscard]] static std::uint64_t key(std::uint64_t stamp) { return stamp * 2 + 1; }
  /// Returns whether `memory` holds the results of all workers for the launch with this stamp.
  [[nodiscard]] bool arrived(Memory& memory, std::size_t workers, std::uint64_t stamp) const;

 private:
  std::uint64_t sum_ = 0;
};

/// Returns whether the first word of every page and the last 8 bytes are those of the pattern. A
/// check of every word would take longer.
[[nodiscard]] bool holds_pattern_by_page(Memory& memory, std::size_t bytes, std::uint64_t seed);

/// `read_bandwidth`, `write_bandwidth` or `bandwidth` with the published example's arguments: one
/// or two buffers, their size, and the number of sweeps over them.
///
/// Verification depends on the kernel. A copy is checked in full. If a kernel writes its own
/// pattern, every 8-byte word must have changed. A shorter last word is not checked, because its
/// bytes may be equal by chance. A kernel that only reads leaves nothing to check.
class SweepOperation : public Operation {
 public:
  /// Returns the number of buffers that the kernel `name` takes.
  static unsigned buffers(const std::string& name) { return name == "bandwidth" ? 2 : 1; }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override;
  [[nodiscard]] bool moves_data() const override;
  void arm_fully(std::size_t part, std::uint64_t seed) override;
  [[nodiscard]] bool arrived_fully(std::size_t part, std::uint64_t seed) override;
  void arm(std::size_t part, std::uint64_t stamp) override;
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override;

 protected:
  explicit SweepOperation(const OperationSpec& spec);
  /// Sets the buffers, the one that the kernel reads first; call it before arming.
  void works_on(std::vector<Memory*> memories);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t sweeps() const { return sweeps_; }
  std::vector<Movement>& movements(std::size_t part) override;

 private:
  [[nodiscard]] std::size_t stamps() const;
  [[nodiscard]] bool every_word_changed(std::uint64_t seed);

  std::string name_;
  std::size_t bytes_;
  std::uint64_t sweeps_;
  std::vector<Memory*> memories_;
  std::vector<Movement> copied_;
};

}  // namespace isthmus

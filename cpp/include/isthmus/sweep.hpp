// One launch of a published bandwidth kernel, whichever runtime launches it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {

/// `read_bandwidth`, `write_bandwidth` or `bandwidth` with the published example's arguments: one
/// buffer or two, their size, and how often to sweep over them.
///
/// What arrives depends on the kernel. A copy is checked in full; of a kernel that writes a pattern
/// of its own it is seen that every word of 8 bytes changed, a shorter last one aside, whose few
/// bytes may be what they were; one that only reads returns nothing by these arguments, so there is
/// nothing to be seen.
class SweepOperation : public Operation {
 public:
  /// Buffers that the kernel of this name takes.
  static unsigned buffers(const std::string& name) { return name == "bandwidth" ? 2 : 1; }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override;
  [[nodiscard]] bool moves_data() const override;
  void arm_fully(std::size_t part, std::uint64_t seed) override;
  [[nodiscard]] bool arrived_fully(std::size_t part, std::uint64_t seed) override;
  void arm(std::size_t part, std::uint64_t stamp) override;
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override;

 protected:
  explicit SweepOperation(const OperationSpec& spec);
  /// What the buffers hold, first the one that is read; before anything is armed.
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

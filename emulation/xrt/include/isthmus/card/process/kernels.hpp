// What kernels do to data, and how long that takes.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "isthmus/card/process/channel.hpp"
#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/memory.hpp"
#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// A kernel cannot be run, or not with these arguments; the message says why.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the user is told of once.
class Warnings {
 public:
  /// With `fatal` the first one is thrown as KernelError.
  explicit Warnings(bool fatal) : fatal_(fatal) {}

  /// Each `key` once.
  void tell(const std::string& key, const std::string& text);

 private:
  bool fatal_;
  std::set<std::string> told_;
};

/// All memory that a kernel can reach, by address. Accesses past the end of a buffer are done, as
/// on a board, and the user is warned of them.
class Reach {
 public:
  Reach(const Description& description, CardMemory& card, ProgramMemory& host, Warnings& warnings,
        const ComputeUnit& unit, std::span<const std::byte> registers)
      : description_(&description),
        card_(&card),
        host_(&host),
        warnings_(&warnings),
        unit_(&unit),
        registers_(registers) {}

  [[nodiscard]] bool is_host(std::uint64_t address) const;
  [[nodiscard]] std::size_t bank(std::uint64_t address) const {
    return description_->bank_of(address);
  }
  void read(std::uint64_t address, std::span<std::byte> to);
  void write(std::uint64_t address, std::span<const std::byte> from);

  struct Traffic {
    std::uint64_t host_read = 0;
    std::uint64_t host_written = 0;
    std::uint64_t card_read = 0;
    std::uint64_t card_written = 0;
  };
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  const Description* description_;
  void warn(std::uint64_t address, std::uint64_t bytes, const char* does);
  void check_range(std::uint64_t address, std::uint64_t bytes) const;
  void read_host(std::uint64_t address, std::span<std::byte> to);
  void write_host(std::uint64_t address, std::span<const std::byte> from);

  CardMemory* card_;
  ProgramMemory* host_;
  Warnings* warnings_;
  const ComputeUnit* unit_;
  std::span<const std::byte> registers_;
  Traffic traffic_;
};

/// One run: where the arguments are, and what can be reached.
struct KernelRun {
  const ComputeUnit* unit;
  std::span<std::byte> registers;
  Reach* reach;
  Timing* timing;

  /// Argument `index`, of up to eight bytes.
  [[nodiscard]] std::uint64_t argument(std::size_t index) const;
  /// Result `index` of the card's own kernels, behind the arguments; left out where it has no room.
  void result(std::size_t index, std::uint64_t value) const;
};

struct KernelOutcome {
  Time duration = 0;
  std::uint64_t bytes = 0;  ///< read and written, each sweep counted
};

class KernelModel {
 public:
  KernelModel() = default;
  KernelModel(const KernelModel&) = delete;
  KernelModel& operator=(const KernelModel&) = delete;
  virtual ~KernelModel() = default;

  /// Does all of its work at once.
  virtual KernelOutcome run(const KernelRun& run) = 0;
};

/// A plug-in of that name in one of the folders, else a kernel of the card's own. Throws
/// KernelError where there is neither, or the unit lacks arguments.
std::unique_ptr<KernelModel> make_kernel(const ComputeUnit& unit,
                                         const std::vector<std::string>& folders);

/// Time that memory takes for what was read and written, all at once, each as one sweep.
Time time_of(const Reach::Traffic& traffic, Timing& timing);

}  // namespace isthmus::card::process

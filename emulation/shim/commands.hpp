// The card's command queue. It starts kernels in the order of their commands, as a board's driver
// does. Each start and end has a simulated time, and is done in the order of these times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "isthmus/card/process/device.hpp"

namespace isthmus::shim {

// States of a command's packet, in the lowest bits of its header (`ert.h` of XRT).
inline constexpr std::uint32_t state_mask = 0xf;
inline constexpr std::uint32_t state_running = 3;
inline constexpr std::uint32_t state_completed = 4;

/// A command that starts a kernel.
struct Command {
  std::uint32_t* header = nullptr;  ///< header of the packet; its lowest bits are the state
  std::shared_ptr<void> packet;     ///< keeps the packet, which the program may free before the end
  std::vector<std::size_t> units;   ///< compute units that may run the command
  std::vector<std::byte> registers;  ///< values of the unit's registers, from offset 0 on
  std::uint64_t submitted = 0;       ///< simulated time, femtoseconds modulo 2^64
  std::uint64_t number = 0;          ///< the order in which commands were submitted
  std::uint64_t start = 0;           ///< number of the program's start (`clock::start`)
};

class Commands {
 public:
  Commands(card::process::Device& device, card::process::Meter& meter,
           const std::vector<std::uint64_t>& units)
      : device_(&device), meter_(&meter), units_(&units), free_since_(units.size()) {}

  /// A program that destroys a run may use the run's packet for another one while the kernel still
  /// runs: the packet is the newer command's then.
  void submit(Command command);
  /// Returns the time of the next start or end. Empty if no command is left, or if no running
  /// kernel has a known end.
  [[nodiscard]] std::optional<std::uint64_t> next();
  /// Does all starts and ends up to `time`. `waits`: the time since which the calling thread waits
  /// for the card; its call takes the time from then on.
  void advance(std::uint64_t time, std::optional<std::uint64_t> waits = std::nullopt);
  /// Reads the status of kernels whose end is unknown.
  void look();
  [[nodiscard]] bool any() const { return !queues_.empty() || !running_.empty(); }
  /// Returns how many commands have ended since the last call.
  int take_ended() { return std::exchange(ended_, 0); }
  [[nodiscard]] bool any_ended() const { return ended_ > 0; }
  /// Sets the card's clock.
  void set_now(std::uint64_t time) {
    meter_->slot().offset_fs = time - meter_->slot().elapsed_fs.load();
  }

 private:
  /// Queues by the units that may run their commands; no queue is empty.
  using Queues = std::map<std::vector<std::size_t>, std::deque<Command>>;
  struct StartOfNext {
    std::uint64_t time = 0;
    Queues::iterator queue;
    std::size_t unit = 0;
  };
  [[nodiscard]] std::optional<StartOfNext> start_of_next();
  void start(const StartOfNext& next);
  void end(std::size_t unit);
  void complete(Command& command);
  [[nodiscard]] bool is_idle(std::size_t unit) const { return !running_.contains(unit); }

  card::process::Device* device_;
  card::process::Meter* meter_;
  const std::vector<std::uint64_t>* units_;
  std::vector<std::optional<std::uint64_t>> free_since_;  ///< by unit; empty before its first run
  Queues queues_;
  std::uint64_t submitted_ = 0;                       ///< number of commands so far
  std::map<std::size_t, Command> running_;            ///< by unit
  std::unordered_set<const std::uint32_t*> packets_;  ///< packets of commands that have not ended
  /// End of the last start: the next start begins no earlier.
  std::optional<std::uint64_t> last_start_;
  int ended_ = 0;
};

/// Whether a simulated time is before another; both may have wrapped.
inline bool is_before(std::uint64_t time, std::uint64_t other) {
  return static_cast<std::int64_t>(time - other) < 0;
}

}  // namespace isthmus::shim

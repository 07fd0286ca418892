// The card's command queue. It starts kernels in the order in which a board's driver starts their
// commands. Each start and end has a simulated time, and they happen in the order of these times.
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

// States of a command's packet, in the lowest bits of the packet's header (`ert.h` of XRT).
inline constexpr std::uint32_t state_mask = 0xf;
inline constexpr std::uint32_t state_running = 3;
inline constexpr std::uint32_t state_completed = 4;

/// A command that starts a kernel, as the program submitted it.
struct Command {
  std::uint32_t* header = nullptr;   ///< the packet's header, whose lowest bits are the state
  std::shared_ptr<void> packet;      ///< keeps the packet alive, which the program may free earlier
  std::vector<std::size_t> units;    ///< compute units, any of which may run the command
  std::vector<std::byte> registers;  ///< values for the unit's registers, from offset 0 on
  std::uint64_t submitted = 0;       ///< simulated time, femtoseconds modulo 2^64
  std::uint64_t number = 0;          ///< counts commands in the order of submission
  std::uint64_t start = 0;           ///< number of the program's start of the run (`clock::start`)
};

class Commands {
 public:
  Commands(card::process::Device& device, card::process::Meter& meter,
           const std::vector<std::uint64_t>& units)
      : device_(&device), meter_(&meter), units_(&units), free_since_(units.size()) {}

  /// Queues a command. A program that has destroyed a run may use its packet again while the kernel
  /// runs: the packet then belongs to the newer command.
  void submit(Command command);
  /// Returns when the next start or end happens; nothing if no command is left, or if no running
  /// kernel's end is known.
  [[nodiscard]] std::optional<std::uint64_t> next();
  /// Does all starts and ends up to `time`. `waits` is since when the calling thread has waited for
  /// the card: its call takes the time from then on.
  void advance(std::uint64_t time, std::optional<std::uint64_t> waits = std::nullopt);
  /// Reads the status of running kernels whose end is unknown.
  void look();
  [[nodiscard]] bool any() const { return !queues_.empty() || !running_.empty(); }
  /// Returns how many commands have ended since the previous call.
  int take_ended() { return std::exchange(ended_, 0); }
  [[nodiscard]] bool any_ended() const { return ended_ > 0; }
  /// Sets the card's time.
  void set_now(std::uint64_t time) {
    meter_->slot().offset_fs = time - meter_->slot().elapsed_fs.load();
  }

 private:
  /// Waiting commands, by the units that may run them; no queue is empty.
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
  /// When each unit became free; empty before its first run.
  std::vector<std::optional<std::uint64_t>> free_since_;
  Queues queues_;
  std::uint64_t submitted_ = 0;                       ///< number of commands submitted so far
  std::map<std::size_t, Command> running_;            ///< the command that each busy unit runs
  std::unordered_set<const std::uint32_t*> packets_;  ///< packets of commands that have not ended
  /// When the last start ended: the next start begins no earlier.
  std::optional<std::uint64_t> last_start_;
  int ended_ = 0;
};

/// Returns whether one simulated time is before another, although times wrap.
inline bool is_before(std::uint64_t time, std::uint64_t other) {
  return static_cast<std::int64_t>(time - other) < 0;
}

}  // namespace isthmus::shim

// The whole state of a simulated card and host, and the fast-forward over periods that repeat.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/stream.hpp"

namespace isthmus::card {

/// Finds when a sequence of states begins to repeat (Brent's method): it keeps one state, compares
/// each later state with it, and replaces it at powers of two.
class Recurrence {
 public:
  struct Seen {
    State state;
    Time time = 0;
    std::vector<std::int64_t> progress;
  };

  /// Returns time and progress of the kept state if it equals `state`, else nullptr.
  const Seen* find(const State& state, Time time, const std::vector<std::int64_t>& progress);
  void forget();

 private:
  Seen seen_;
  std::uint64_t looks_ = 0;
  std::uint64_t keep_at_ = 1;
};

class Machine {
 public:
  Machine(const Board& described, std::uint64_t seed);

  /// Resets all state, but not the limits of streams.
  void reset(std::uint64_t sample);
  [[nodiscard]] Time now() const { return crossing.simulator.now() + skipped_; }
  /// Delivers events until none is pending.
  void run();
  /// Call it at the end of a sweep, when all streams rest. If the machine's state repeats, it skips
  /// whole sweeps and subtracts them from `left`.
  void skip_sweeps(std::int64_t& left);
  /// Forgets the kept state; call it before new work.
  void forget();
  /// Returns a DMA channel's port to a bank. DMA's bursts are long, so its two directions do not
  /// disturb each other. Throws BoardError if the card has no memory.
  Port bank_port(std::size_t bank);
  /// Returns a kernel's port to a bank, which waits when the bank changes between writes and reads.
  Port bank_port(std::size_t bank, bool writes);
  /// Returns a kernel's side of a port. Throws std::bad_optional_access if the board has no
  /// kernels.
  Port datapath(std::size_t port, bool writes_card = false);

  Board board;
  Crossing crossing;
  std::vector<Server> banks;
  Server inbound;  ///< passes what all DMA channels read from the host
  bool fast_forward = true;
  /// Whether only whole sweeps are skipped, because an actor's state is not part of the machine's.
  bool sweeps_only = false;
  std::uint64_t periods_skipped = 0;

 private:
  void skip_bytes();
  void skip_time(std::int64_t periods, Time period);
  void save();
  [[nodiscard]] bool deterministic() const { return !crossing.link.random(); }

  std::deque<Server> datapaths_;  ///< one for each port of the kernel
  Time skipped_ = 0;
  State state_;
  std::vector<std::int64_t> progress_;
  Recurrence bytes_;
  Recurrence sweeps_;
};

}  // namespace isthmus::card

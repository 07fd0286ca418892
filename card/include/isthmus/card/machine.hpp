// Everything that has a state in simulated time, and the fast-forward over what repeats.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/stream.hpp"

namespace isthmus::card {

/// Finds out when a sequence of states begins to repeat (Brent's method): keeps one state, compares
/// all of it with every later one, and takes a newer one to keep at powers of two.
class Recurrence {
 public:
  struct Seen {
    State state;
    Time time = 0;
    std::vector<std::int64_t> progress;
  };

  /// What was seen before in this very state; nullptr where nothing was.
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

  /// Power-up; streams keep their limits.
  void reset(std::uint64_t sample);
  [[nodiscard]] Time now() const { return crossing.simulator.now() + skipped_; }
  /// Until nothing is pending.
  void run();
  /// Called where a sweep ended and all streams rest: drops whole sweeps from `left` when the
  /// machine's state has been the same before.
  void skip_sweeps(std::int64_t& left);
  /// Before new work: states from before do not count.
  void forget();
  /// What DMA moves there is in long bursts: its directions do not disturb each other. Throws
  /// BoardError where the card has no memory.
  Port bank_port(std::size_t bank);
  /// A kernel's port, which waits where the bank has to turn from writing to reading or back.
  Port bank_port(std::size_t bank, bool writes);
  /// A kernel's side of one of its ports. Throws std::bad_optional_access without kernels.
  Port datapath(std::size_t port, bool writes_card = false);

  Board board;
  Crossing crossing;
  std::vector<Server> banks;
  Server inbound;  ///< of the card, which what DMA channels read from the host passes
  bool fast_forward = true;
  /// Something with a state of its own takes part: only whole sweeps may be skipped.
  bool sweeps_only = false;
  std::uint64_t periods_skipped = 0;

 private:
  void skip_bytes();
  void skip_time(std::int64_t periods, Time period);
  void save();
  [[nodiscard]] bool deterministic() const { return !crossing.link.random(); }

  std::deque<Server> datapaths_;  ///< by port of a kernel
  Time skipped_ = 0;
  State state_;
  std::vector<std::int64_t> progress_;
  Recurrence bytes_;
  Recurrence sweeps_;
};

}  // namespace isthmus::card

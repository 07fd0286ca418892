// The program's time: real time, but for its calls into a card, which take simulated time instead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace isthmus::card::clock {

using Nanoseconds = std::int64_t;

/// What every thread's clocks are made from. Between calls it runs at real speed. From the first
/// `enter` to the last `leave` it stands still for those inside and runs on for the others that
/// look at it; at a `leave` it is at least where the call ended and never behind what anybody has
/// seen.
class VirtualTime {
 public:
  using Read = Nanoseconds (*)(clockid_t);

  explicit constexpr VirtualTime(Read read) : read_(read) {}

  /// Clocks that are kept: wall clocks, not those of processor time.
  static bool keeps(clockid_t clock);

  /// As a running thread sees it; `inside`: in a call into a card.
  Nanoseconds now(clockid_t clock, bool inside);
  /// Monotonic time for a thread that waits: looking does not make time run on.
  Nanoseconds peek();

  /// A call begins; its time, monotonic.
  Nanoseconds enter();
  /// A call ends, at `end` or as soon after as it can be.
  void leave(Nanoseconds end);
  /// In the child of a fork, which has no other thread.
  void forked();

 private:
  static constexpr std::size_t clocks = 12;

  class Locked;
  Nanoseconds look(Nanoseconds real);
  Nanoseconds translated(clockid_t clock, Nanoseconds monotonic);

  Read read_;
  std::atomic<bool> locked_ = false;
  std::atomic<unsigned> sequence_ = 0;  ///< odd while the next three change
  std::atomic<Nanoseconds> offset_ = 0;
  std::atomic<unsigned> inside_ = 0;
  std::atomic<Nanoseconds> seen_ = 0;  ///< latest time that is not to be undone
  Nanoseconds base_ = 0;  ///< time when the last call began or ended, and its real time
  Nanoseconds base_real_ = 0;
  std::array<Nanoseconds, clocks> last_{};  ///< what other clocks showed since the first `enter`
};

}  // namespace isthmus::card::clock

// When commands were given to XRT's software scheduler.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "lock.hpp"
#include "virtual_time.hpp"

namespace isthmus::card::clock {

/// Commands in the order in which they were added. They are taken to be started in this order, as
/// those of one unit are: where XRT passes over one whose unit is busy, each gets the other's time.
class Submissions {
 public:
  /// Any thread; each time has a place of its own, which is read only once it is written.
  void add(Nanoseconds time) {
    const Locked lock(locked_);
    const unsigned command = given_;
    times_[command % times_.size()] = time;
    given_ = command + 1;
  }
  [[nodiscard]] unsigned given() const { return given_; }

  // The scheduler.

  [[nodiscard]] bool any_to_start() const { return started_ != given_; }
  /// When the one was given that is started next; there is one.
  [[nodiscard]] Nanoseconds next() const { return times_[started_ % times_.size()]; }
  void start() {
    if (any_to_start()) {
      ++started_;
    }
  }
  /// So many are done, with those that start no kernel.
  void start_all(unsigned given) { started_ = given; }

  /// In the child of a fork.
  void forget() {
    locked_ = false;
    started_ = given_.load();
  }

 private:
  std::atomic<bool> locked_ = false;
  std::atomic<unsigned> given_ = 0;
  std::atomic<unsigned> started_ = 0;
  /// As many as XRT can have at a time.
  std::array<Nanoseconds, std::size_t{1} << 19U> times_{};
};

}  // namespace isthmus::card::clock

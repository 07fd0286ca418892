// XRT's software scheduler, one thread, which starts kernels and asks whether they run still.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>

#include "threads.hpp"
#include "virtual_time.hpp"

namespace isthmus::card::clock {

inline bool is_of_program() { return VirtualTime::role() == Role::program; }
inline bool is_scheduler() { return VirtualTime::role() == Role::scheduler; }

struct Scheduler {
  std::atomic<unsigned> announced = 0;  ///< commands that the program begins to give it
  std::atomic<unsigned> submitted = 0;  ///< of those, what it could know of
  std::atomic<unsigned> taken = 0;      ///< of those, what it knows of
  std::atomic<unsigned> started = 0;    ///< of those, kernels that it has started
  /// It locks this mutex once in each round, to take commands.
  std::atomic<const pthread_mutex_t*> list = nullptr;
  std::atomic<bool> acted = false;  ///< in this round: what ends in one starts others in the next
  std::atomic<bool> idle = true;    ///< did nothing in the round before
  std::atomic<bool> parked = true;  ///< waits for commands
  std::atomic<bool> in_call = false;
  std::atomic<pid_t> thread = 0;
  std::atomic<int> running = 0;  ///< kernels that it has started, and whose end it has not seen
  std::atomic<Nanoseconds> last_end = 0;  ///< that it has seen

  /// It has seen the end of a kernel and has not yet marked its command as done.
  std::atomic<bool> completing = false;

  /// The calling thread is about to give it a command.
  void announce();
  /// When the command was given to it that it starts next: it keeps their order.
  [[nodiscard]] Nanoseconds next_submission() const;
  /// How long what it starts now has waited for it; below 0 where that is to come only.
  [[nodiscard]] Nanoseconds waited(Nanoseconds now) const {
    return is_scheduler() && started != announced ? now - next_submission() : 0;
  }
  /// Something else holds it up, which may be the thread that asks: a callback of the program's.
  [[nodiscard]] bool is_held_up() const {
    return thread != 0 && !parked && !in_call && !completing && !runs(thread);
  }
  /// Whether all it will do is to see kernels end.
  [[nodiscard]] bool is_settled() const {
    return submitted == taken && !completing && (parked || idle);
  }

  /// In the child of a fork, which has none.
  void forget();
};
extern constinit Scheduler xrt_scheduler;

}  // namespace isthmus::card::clock

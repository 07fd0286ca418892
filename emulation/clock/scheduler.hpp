// XRT's software scheduler, one thread, which starts kernels and asks whether they run still.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>

#include "submissions.hpp"
#include "threads.hpp"
#include "virtual_time.hpp"

namespace isthmus::card::clock {

inline bool is_of_program() {
  return VirtualTime::role() == Role::program || VirtualTime::role() == Role::runtime;
}
inline bool is_scheduler() { return VirtualTime::role() == Role::scheduler; }

/// What the program gave it. By itself, for it is large and all zero.
extern constinit Submissions xrt_submissions;

struct Scheduler {
  std::atomic<unsigned> taken = 0;  ///< of `xrt_submissions`, what it knows of
  /// It locks this mutex once in each round, to take commands.
  std::atomic<const pthread_mutex_t*> list = nullptr;
  std::atomic<bool> acted = false;  ///< in this round: what ends in one starts others in the next
  std::atomic<bool> idle = true;    ///< did nothing in the round before
  std::atomic<bool> parked = true;  ///< waits for commands
  std::atomic<bool> in_call = false;
  std::atomic<pid_t> thread = 0;
  std::atomic<unsigned> steps = 0;  ///< counts what it does, but for asking whether kernels run
  std::atomic<int> running = 0;     ///< kernels that it has started, and whose end it has not seen
  std::atomic<Nanoseconds> last_end = 0;  ///< that it has seen

  /// It has seen the end of a kernel and has not yet marked its command as done.
  std::atomic<bool> completing = false;

  /// How long what it starts now has waited for it; below 0 where that is to come only.
  [[nodiscard]] static Nanoseconds waited(Nanoseconds now) {
    return is_scheduler() && xrt_submissions.any_to_start() ? now - xrt_submissions.next() : 0;
  }
  /// Something else holds it up, which may be the thread that asks: a callback of the program's.
  [[nodiscard]] bool is_held_up() const {
    return thread != 0 && !parked && !in_call && !completing && !runs(thread);
  }
  /// Processor time.
  [[nodiscard]] Nanoseconds used() const {
    const pid_t id = thread;
    return id == 0 ? 0 : processor_time(id);
  }
  /// Whether all it will do is to see kernels end.
  [[nodiscard]] bool is_settled() const {
    return xrt_submissions.given() == taken && !completing && (parked || idle);
  }

  /// In the child of a fork, which has none.
  void forget();
};
extern constinit Scheduler xrt_scheduler;

}  // namespace isthmus::card::clock

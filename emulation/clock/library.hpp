// What the parts of the library share in a process.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "isthmus/card/process/page.hpp"
#include "threads.hpp"
#include "virtual_time.hpp"

#define ISTHMUS_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace isthmus::card::clock {

/// Whether the session has a virtual clock; set before the program's own code runs.
bool is_virtual();
/// The session's page, null without one.
process::Page* page();

Nanoseconds real_time(clockid_t clock);
/// Returns at once when `duration` is none.
void really_sleep(Nanoseconds duration);

/// Times until which threads of the program wait, monotonic.
class Deadlines {
 public:
  static constexpr Nanoseconds none = std::numeric_limits<Nanoseconds>::max();

  struct Wait {
    pid_t thread = 0;  ///< 0: free
    Nanoseconds deadline = 0;
    /// Of a condition: the wait ends once it is locked.
    const pthread_mutex_t* mutex = nullptr;
  };

  /// The wait, by which it is removed; beyond 256 waits there is none.
  Wait* add(Nanoseconds deadline, const pthread_mutex_t* mutex);
  void remove(Wait& wait);
  /// Waits that cannot end because another thread holds their mutex do not count: nothing happens
  /// there before that thread goes on, which counts itself.
  [[nodiscard]] Nanoseconds earliest();
  /// In the child of a fork, which has no other thread.
  void clear();

 private:
  std::atomic<bool> locked_ = false;
  std::array<Wait, 256> waits_{};
};

extern constinit VirtualTime program_time;
extern constinit Deadlines deadlines;

/// Times at which threads did what others may have waited for, by the address of a condition, a
/// mutex, a semaphore, a futex or a thread. Several may share a place: a time is then too late.
class Stamps {
 public:
  void put(const void* place, Nanoseconds time);
  [[nodiscard]] Nanoseconds at(const void* place) const;

 private:
  [[nodiscard]] static std::size_t index_of(const void* place);
  std::array<std::atomic<Nanoseconds>, 4096> times_{};
};
extern constinit Stamps stamps;

/// The calling thread does what others may wait for at `place`.
void tell_others(const void* place);
/// It waited for something at `place`, or found it done.
void follow_others(const void* place);

/// The calling thread counts from now on, in its place, until it ends, however that is.
void begin_thread(Role role, Nanoseconds began, VirtualTime::Thread* place = nullptr);
/// Where the end of a thread is told.
const void* place_of(pthread_t thread);

/// Clocks that are kept: wall clocks, not those of processor time.
bool keeps(clockid_t clock);
/// A kept clock for the calling thread.
Nanoseconds clock_now(clockid_t clock);

/// A card is opened by this process: from now on it has a time of its own.
void start_time();
/// Whether it has; before, its clocks are real.
bool has_card();
/// Whether a kernel of this process runs.
bool kernel_runs();
/// Whether nothing of the program happens before `time`, so that the calling thread may go there:
/// threads compute no more or have come so far, kernels that end before are seen to have ended, and
/// nobody's deadline is before.
bool is_next(Nanoseconds time);
/// In the child of a fork, which has no card.
void forget_cards();

}  // namespace isthmus::card::clock

// State of the clock's library in a process, which its parts share.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "isthmus/card_page.hpp"
#include "threads.hpp"
#include "virtual_time.hpp"

#define ISTHMUS_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace isthmus::card::clock {

/// Whether the session has a virtual clock; set before the program's own code runs.
bool is_virtual();
/// Returns the session's page; null without a session.
process::Page* page();

Nanoseconds real_time(clockid_t clock);
/// Sleeps in real time; returns at once if `duration` is not above 0.
void really_sleep(Nanoseconds duration);

/// Deadlines of the program's threads, in virtual time of the monotonic clock.
class Deadlines {
 public:
  static constexpr Nanoseconds none = std::numeric_limits<Nanoseconds>::max();

  struct Wait {
    pid_t thread = 0;  ///< 0: this entry is free
    Nanoseconds deadline = 0;
    /// Mutex of a wait for a condition: the wait ends once the mutex is locked.
    const pthread_mutex_t* mutex = nullptr;
  };

  /// Adds a wait, and returns it for `remove`; null beyond 256 waits.
  Wait* add(Nanoseconds deadline, const pthread_mutex_t* mutex);
  void remove(Wait& wait);
  /// Returns the earliest deadline. A wait whose mutex another thread holds does not count, because
  /// it cannot end before that thread unlocks the mutex.
  [[nodiscard]] Nanoseconds earliest();
  /// Removes all waits: for the child of a fork, which has no other thread.
  void clear();

 private:
  std::atomic<bool> locked_ = false;
  std::atomic<int> count_ = 0;
  std::array<Wait, 256> waits_{};
};

extern constinit VirtualTime program_time;
extern constinit Deadlines deadlines;

/// Times at which threads signalled, by the address of a condition, a mutex, a semaphore, a futex
/// or a thread. Two addresses may share a place: then a time may be too late.
class Stamps {
 public:
  void put(const void* place, Nanoseconds time);
  [[nodiscard]] Nanoseconds at(const void* place) const;

 private:
  [[nodiscard]] static std::size_t index_of(const void* place);
  std::array<std::atomic<Nanoseconds>, 4096> times_{};
};
extern constinit Stamps stamps;

/// Notes that the calling thread signals `place`.
void put_stamp(const void* place);
/// Raises the calling thread's time to the last signal of `place`, after a wait for it.
void follow_stamp(const void* place);

/// Registers the calling thread until it ends, also by pthread_exit or cancellation.
void begin_thread(Role role, Nanoseconds began, VirtualTime::Thread* place = nullptr);
/// Returns the place at which the end of a thread is signalled.
const void* place_of(pthread_t thread);

/// Whether a clock shows virtual time: wall clocks do, clocks of processor time do not.
bool keeps(clockid_t clock);
/// Returns the time that `clock` shows to the calling thread; `keeps` holds for the clock.
Nanoseconds clock_now(clockid_t clock);

/// Starts virtual time, when this process opens its first card.
void start_time();
/// Whether virtual time has started; before, clocks are real.
bool has_card();
/// Whether a kernel of this process runs.
bool kernel_runs();
/// Whether nothing of the program happens before `time`, so that the calling thread may advance to
/// it: no thread computes with an earlier time, the ends of earlier kernels were seen, and no
/// deadline is earlier.
bool is_next(Nanoseconds time);
/// Removes all cards: for the child of a fork, which has no card.
void forget_cards();

}  // namespace isthmus::card::clock

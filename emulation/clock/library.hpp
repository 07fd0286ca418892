// What all parts of the clock's library share in a process: deadlines, signals, threads, virtual
// time.
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

/// Returns whether the session has a virtual clock; known before the program's code runs.
bool is_virtual();
/// Returns the cards' memory page of the session (card_page.hpp); null without a session.
process::Page* page();

Nanoseconds real_time(clockid_t clock);
/// Sleeps for `duration` in real time; returns at once unless it is above 0.
void really_sleep(Nanoseconds duration);

/// Deadlines of waits of the program's threads, in virtual time of the monotonic clock.
class Deadlines {
 public:
  static constexpr Nanoseconds none = std::numeric_limits<Nanoseconds>::max();

  struct Wait {
    pid_t thread = 0;  ///< thread that waits; 0: this entry is free
    Nanoseconds deadline = 0;
    /// Mutex that a wait for a condition locks at its end; null for other waits.
    const pthread_mutex_t* mutex = nullptr;
  };

  /// Adds a wait and returns it, for `remove`; null if there are 256 waits already.
  Wait* add(Nanoseconds deadline, const pthread_mutex_t* mutex);
  void remove(Wait& wait);
  /// Returns the earliest deadline. A wait does not count while another thread holds its mutex: it
  /// cannot end before.
  [[nodiscard]] Nanoseconds earliest();
  /// Removes all waits, because the child of a fork has one thread only.
  void clear();

 private:
  std::atomic<bool> locked_ = false;
  std::atomic<int> count_ = 0;
  std::array<Wait, 256> waits_{};
};

extern constinit VirtualTime program_time;
extern constinit Deadlines deadlines;

/// Virtual times at which threads last signalled an object: a condition, mutex, semaphore, futex or
/// thread, by its address. Two addresses may share an entry, which may then be too late a time.
class Stamps {
 public:
  void put(const void* place, Nanoseconds time);
  [[nodiscard]] Nanoseconds at(const void* place) const;

 private:
  [[nodiscard]] static std::size_t index_of(const void* place);
  std::array<std::atomic<Nanoseconds>, 4096> times_{};
};
extern constinit Stamps stamps;

/// Notes that the calling thread signals the object at `place`.
void put_stamp(const void* place);
/// Call it after a wait for `place`: raises the calling thread's time to the last signal's time.
void follow_stamp(const void* place);

/// Registers the calling thread until it ends, also if it ends by pthread_exit or cancellation.
void begin_thread(Role role, Nanoseconds began, VirtualTime::Thread* place = nullptr);
/// Returns the address for stamps of a thread's end.
const void* place_of(pthread_t thread);

/// Returns whether a clock shows virtual time, as wall clocks do and processor-time clocks do not.
bool keeps(clockid_t clock);
/// Returns the virtual time of a clock for the calling thread; only if `keeps(clock)`.
Nanoseconds clock_now(clockid_t clock);

/// Starts virtual time; called when this process opens its first card.
void start_time();
/// Returns whether virtual time has started, with the first card; before, all clocks are real. It
/// does not stop when all cards are closed, nor in a fork's child.
bool time_has_started();
/// Returns whether a card of this process runs a kernel or has an event that is not done.
bool card_is_busy();
/// Returns whether the calling thread may advance to `time`, because nothing of the program happens
/// before. No thread computes at an earlier time, no kernel's end is unseen, and no deadline is
/// earlier.
bool is_next(Nanoseconds time);
/// Forgets all cards, because the child of a fork has none.
void forget_cards();

}  // namespace isthmus::card::clock

// Waits with a deadline, which end when the program's virtual time reaches the deadline.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "libraries.hpp"
#include "library.hpp"

namespace isthmus::card::clock {

inline constexpr Nanoseconds second = 1'000'000'000;
inline constexpr Nanoseconds millisecond = 1'000'000;
/// Real time after which a waiting thread reads the virtual time again. It does so more often while
/// a kernel runs, because virtual time then advances in steps.
inline constexpr Nanoseconds slice = 2 * millisecond;
inline constexpr Nanoseconds slice_with_kernel = 100'000;
inline constexpr Nanoseconds shortest_slice = 20'000;

/// Longest duration of a wait: 146 years; sums of times do not overflow.
inline constexpr Nanoseconds longest = Nanoseconds{1} << 62;

inline Nanoseconds from(const timespec& time) {
  return time.tv_sec >= longest / second ? longest : time.tv_sec * second + time.tv_nsec;
}

inline timespec as_timespec(Nanoseconds time) {
  return {.tv_sec = time / second, .tv_nsec = time % second};
}

inline timespec in_real_time(Nanoseconds duration, clockid_t clock = CLOCK_MONOTONIC) {
  return as_timespec(real_time(clock) + duration);
}

/// Returns whether a wait of this caller follows virtual time: once a card is open, and not in the
/// shim, which sleeps in real time.
inline bool follows(const void* caller) {
  return time_has_started() && !in_shim(caller) && VirtualTime::role() != Role::shim;
}

inline bool is_time(const timespec* time) {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < second;
}

/// Returns whether glibc's waits take a deadline on this clock; with others they return EINVAL.
inline bool is_known(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/// Converts a time of `clock` to a deadline in the thread's virtual time; only if `keeps(clock)`.
inline Nanoseconds deadline_of(clockid_t clock, const timespec& time) {
  return program_time.now() + from(time) - clock_now(clock);
}

/// Ends a wait, also if the thread is cancelled. `place`: the wait among `deadlines`, or null.
inline void end_wait(void* place) {
  if (place != nullptr) {
    deadlines.remove(*static_cast<Deadlines::Wait*>(place));
  }
  program_time.stop_waiting();
}

/// Returns whether virtual time may advance to a deadline now. While no card works and no thread is
/// in a call, the wait lasts as long in real time as well, because its signal may come from outside
/// the program.
inline bool may_end(Nanoseconds deadline, Nanoseconds left_in_real_time) {
  return (left_in_real_time <= 0 || card_is_busy() || program_time.another_is_in_call()) &&
         is_next(deadline);
}

template <class Wait>
void wait_in_slices(Nanoseconds began, Nanoseconds deadline, Wait& wait) {
  const Nanoseconds end = real_time(CLOCK_MONOTONIC) + std::max<Nanoseconds>(deadline - began, 0);
  for (bool first = true;; first = false) {
    const Nanoseconds left = std::max<Nanoseconds>(end - real_time(CLOCK_MONOTONIC), 0);
    const bool past = program_time.now() >= deadline;
    const bool hurried = card_is_busy() || program_time.another_is_in_call();
    const Nanoseconds part = hurried ? slice_with_kernel : slice;
    if (wait(past ? 0 : std::clamp<Nanoseconds>(left, shortest_slice, part)) || past) {
      return;
    }
    if (!first && may_end(deadline, end - real_time(CLOCK_MONOTONIC))) {
      program_time.leave(deadline);
      return;
    }
  }
}

/// Waits in slices until `wait(duration)` returns true or virtual time reaches the deadline. It
/// waits at least once, because the call must release its mutex or find files that are ready.
/// A deadline that is not past at the begin ends the wait after two slices at the earliest.
/// `mutex` is the mutex that the wait locks at its end, or null.
template <class Wait>
void wait_until(Nanoseconds deadline, Wait wait, const pthread_mutex_t* mutex = nullptr) {
  const Nanoseconds began = program_time.enter(Doing::waiting);
  // The thread may be cancelled here; a destructor would then need the C++ library.
  pthread_cleanup_push(end_wait, deadlines.add(deadline, mutex));
  wait_in_slices(began, deadline, wait);
  pthread_cleanup_pop(1);
}

}  // namespace isthmus::card::clock

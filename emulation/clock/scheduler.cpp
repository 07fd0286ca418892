#include "scheduler.hpp"

#include <sched.h>

#include "calls.hpp"
#include "library.hpp"

namespace isthmus::card::clock {
namespace {

/// Longer than marking a command as done takes on any machine; then something else is wrong.
constexpr Nanoseconds most_for_completion = 1'000'000'000;

/// The mutex of the scheduler's library that this thread has locked last.
thread_local constinit const pthread_mutex_t* last_locked = nullptr;

}  // namespace

constinit Scheduler xrt_scheduler;

void Scheduler::forget() {
  completing = false;
  taken = submitted.load();
  acted = false;
  idle = true;
  parked = true;
  in_call = false;
  thread = 0;
  running = 0;
  list = nullptr;
}

void await_completion() {
  if (!xrt_scheduler.completing || !is_of_program()) {
    return;
  }
  const Nanoseconds until = real_time(CLOCK_MONOTONIC) + most_for_completion;
  while (xrt_scheduler.completing && real_time(CLOCK_MONOTONIC) < until) {
    sched_yield();
  }
}

void on_scheduler_locked(const pthread_mutex_t* mutex) {
  if (is_of_program()) {
    last_locked = mutex;
    return;
  }
  if (!is_scheduler() || mutex != xrt_scheduler.list) {
    return;
  }
  xrt_scheduler.thread = this_thread();
  const unsigned submitted = xrt_scheduler.submitted;
  const bool acted = xrt_scheduler.acted.exchange(false);
  const bool takes = xrt_scheduler.taken != submitted;
  xrt_scheduler.idle = !acted && !takes;
  xrt_scheduler.taken = submitted;
  if (takes && has_card()) {
    program_time.raise(xrt_scheduler.submitted_at);
  }
}

void on_scheduler_unlocked() {
  if (xrt_scheduler.completing && is_scheduler()) {
    xrt_scheduler.completing = false;
  }
}

void on_submitted() {
  if (is_of_program()) {
    if (has_card()) {
      xrt_scheduler.submitted_at = program_time.now();
    }
    xrt_scheduler.list = last_locked;
    ++xrt_scheduler.submitted;
  }
}

void on_parked(bool parked) {
  if (is_scheduler()) {
    xrt_scheduler.parked = parked;
  }
}

}  // namespace isthmus::card::clock

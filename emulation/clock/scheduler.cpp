#include "scheduler.hpp"

#include <sched.h>

#include <array>
#include <cstddef>

#include "calls.hpp"
#include "library.hpp"
#include "redirection.hpp"

namespace isthmus::card::clock {
namespace {

/// When each of the last commands was given to it, as many as XRT can have at a time.
constinit std::array<std::atomic<Nanoseconds>, std::size_t{1} << 19U> submissions{};

std::atomic<Nanoseconds>& submission(unsigned command) {
  return submissions[command % submissions.size()];
}

/// Longer than marking a command as done takes on any machine; then something else is wrong.
constexpr Nanoseconds most_for_completion = 1'000'000'000;

/// The mutex of the scheduler's library that this thread has locked last.
thread_local constinit const pthread_mutex_t* last_locked = nullptr;

/// This thread is giving it a command.
thread_local constinit bool gives = false;

constinit void* original_start = nullptr;
constinit void* original_wait = nullptr;

/// An exception went through `start_command`, which cannot catch it without C++'s library.
void forget_failed() {
  if (gives) {
    gives = false;
    --xrt_scheduler.announced;
  }
}

/// The board's driver does this, whose time is `driver.launch_ns`. After an exception the thread's
/// next command or wait makes good what is left undone here.
void start_command(void* command) {
  forget_failed();
  gives = true;
  xrt_scheduler.announce();
  program_time.count(false);
  as<decltype(start_command)>(original_start)(command);
  program_time.count(true);
  gives = false;
}

void wait_for_command(const void* command) {
  forget_failed();
  program_time.count(false);
  as<decltype(wait_for_command)>(original_wait)(command);
  program_time.count(true);
  if (has_card()) {  // it may have found the command done, without having to wait
    program_time.raise(xrt_scheduler.last_end);
  }
}

}  // namespace

constinit Scheduler xrt_scheduler;

void Scheduler::announce() {
  submission(announced) = has_card() ? program_time.now() : 0;
  ++announced;
}

Nanoseconds Scheduler::next_submission() const { return submission(started); }

void Scheduler::forget() {
  forget_failed();
  completing = false;
  taken = submitted.load();
  started = announced.load();
  acted = false;
  idle = true;
  parked = true;
  in_call = false;
  thread = 0;
  running = 0;
  list = nullptr;
}

void redirect_scheduler(void* library, std::span<unsigned char> code) {
  const std::array all = {Redirection{"_ZN8xrt_core3sws13managed_startEPNS_7commandE",
                                      address_of(start_command), &original_start},
                          Redirection{"_ZN8xrt_core3sws14unmanaged_waitEPKNS_7commandE",
                                      address_of(wait_for_command), &original_wait}};
  redirect_calls(library, code, all);
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
  // It has nothing to do before. While a kernel runs its end may be.
  const bool next = xrt_scheduler.started != xrt_scheduler.announced && xrt_scheduler.running == 0;
  if (next && has_card()) {
    program_time.raise(xrt_scheduler.next_submission());
  }
}

void on_scheduler_unlocked() {
  if (xrt_scheduler.completing && is_scheduler()) {
    xrt_scheduler.completing = false;
  }
}

void on_submitted() {
  if (is_of_program()) {
    if (original_start == nullptr) {
      xrt_scheduler.announce();
    }
    gives = false;
    xrt_scheduler.list = last_locked;
    ++xrt_scheduler.submitted;
  }
}

void on_parked(bool parked) {
  if (is_scheduler()) {
    xrt_scheduler.parked = parked;
    // Commands that start no kernel are done, too.
    const unsigned announced = xrt_scheduler.announced;
    if (parked && announced == xrt_scheduler.submitted && announced == xrt_scheduler.taken) {
      xrt_scheduler.started = announced;
    }
  }
}

}  // namespace isthmus::card::clock

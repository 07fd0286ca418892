#include "scheduler.hpp"

#include <sched.h>

#include <array>

#include "calls.hpp"
#include "leaving.h"
#include "library.hpp"
#include "redirection.hpp"

namespace isthmus::card::clock {
namespace {

/// Longer than marking a command as done takes on any machine; then something else is wrong.
constexpr Nanoseconds most_for_completion = 1'000'000'000;

/// The mutex of the scheduler's library that this thread has locked last.
thread_local constinit const pthread_mutex_t* last_locked = nullptr;

/// This thread is giving it a command.
thread_local constinit bool gives = false;
/// This thread is starting it.
thread_local constinit bool starts = false;

constinit void* original_start = nullptr;
constinit void* original_wait = nullptr;
constinit void* original_begin = nullptr;

using Function = void(const void*);

/// The board's driver does this, whose time is `driver.launch_ns`.
void start_command(const void* command) {
  gives = true;
  program_time.count(false);
  isthmus_call(as<Function>(original_start), command, [] {
    gives = false;
    program_time.count(true);
  });
}

void wait_for_command(const void* command) {
  program_time.count(false);
  isthmus_call(as<Function>(original_wait), command, [] { program_time.count(true); });
  if (has_card()) {  // it may have found the command done, without having to wait
    program_time.raise(xrt_scheduler.last_end);
  }
}

void begin_scheduler() {
  starts = true;
  isthmus_call([](const void*) { as<void()>(original_begin)(); }, nullptr, [] { starts = false; });
}

}  // namespace

constinit Scheduler xrt_scheduler;

void Scheduler::forget() {
  completing = false;
  submissions.forget();
  taken = submissions.given();
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
  const std::array begin = {Redirection{"_ZN8xrt_core3sws5startEv", address_of(begin_scheduler),
                                        &original_begin}};
  redirect_calls(library, code, begin);
}

bool starts_scheduler() { return starts || original_begin == nullptr; }

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
  const unsigned given = xrt_scheduler.submissions.given();
  const bool acted = xrt_scheduler.acted.exchange(false);
  const bool takes = xrt_scheduler.taken != given;
  xrt_scheduler.idle = !acted && !takes;
  xrt_scheduler.taken = given;
  // It has nothing to do before. While a kernel runs its end may be.
  const bool next = xrt_scheduler.submissions.any_to_start() && xrt_scheduler.running == 0;
  if (next && has_card()) {
    program_time.raise(xrt_scheduler.submissions.next());
  }
}

void on_scheduler_unlocked() {
  if (xrt_scheduler.completing && is_scheduler()) {
    xrt_scheduler.completing = false;
  }
}

void on_submitted() {
  if (is_of_program() && (gives || original_start == nullptr)) {
    gives = false;
    xrt_scheduler.list = last_locked;
    xrt_scheduler.submissions.add(has_card() ? program_time.now() : 0);
  }
}

void on_parked(bool parked) {
  if (is_scheduler()) {
    xrt_scheduler.parked = parked;
    // Commands that start no kernel are done, too.
    const unsigned given = xrt_scheduler.submissions.given();
    if (parked && given == xrt_scheduler.taken) {
      xrt_scheduler.submissions.start_all(given);
    }
  }
}

}  // namespace isthmus::card::clock

#include "scheduler.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "calls.hpp"
#include "commands.hpp"
#include "leaving.h"
#include "library.hpp"
#include "lock.hpp"
#include "redirection.hpp"

namespace isthmus::card::clock {
namespace {

/// Longer than marking a command as done takes on any machine; then something else is wrong.
constexpr Nanoseconds most_for_completion = 1'000'000'000;
/// The same for the next of the kernels that end with the program.
constexpr Nanoseconds most_for_end = 10'000'000'000;
constexpr Nanoseconds between_looks = 1'000'000;

/// The mutex of the scheduler's library that this thread has locked last.
thread_local constinit const pthread_mutex_t* last_locked = nullptr;

/// A card's queue is made anew, or a command is kept, so that none is.
constinit std::atomic<bool> making_queue = false;

/// This thread waits for a command, whose end is told by itself.
thread_local constinit bool awaits_command = false;
/// The command that this thread is giving it.
thread_local constinit const void* gives = nullptr;
/// This thread is starting it.
thread_local constinit bool starts = false;

/// Whether XRT's functions have been looked for, found or not.
constinit bool looked_for = false;
constinit void* original_start = nullptr;
constinit void* original_wait = nullptr;
constinit void* original_begin = nullptr;
constinit void* original_end = nullptr;
constinit void* original_init = nullptr;
constinit void* device_of_handle = nullptr;

using Function = void(const void*);

/// The board's driver does this, whose time is `driver.launch_ns`.
void start_command(const void* command) {
  {
    const Locked lock(making_queue);
    keep_command(command);
  }
  stamps.put(command, 0);
  gives = command;
  program_time.count(false);
  isthmus_call(as<Function>(original_start), command, [] {
    if (gives != nullptr) {  // it threw
      drop_command(std::exchange(gives, nullptr));
    }
    program_time.count(true);
  });
}

void wait_for_command(const void* command) {
  program_time.count(false);
  awaits_command = true;
  isthmus_call(as<Function>(original_wait), command, [] {
    awaits_command = false;
    program_time.count(true);
  });
  if (has_card()) {  // it may have found the command done, without having to wait
    const Nanoseconds end = stamps.at(command);
    program_time.raise(end != 0 ? end : xrt_scheduler.last_end.load());
  }
}

void begin_scheduler() {
  starts = true;
  isthmus_call([](const void*) { as<void()>(original_begin)(); }, nullptr, [] { starts = false; });
}

/// XRT makes a card's queue anew when a kernel is opened and none is open, or ever after that was
/// so: commands in the old one, or on their way there, would be started from freed memory.
void init_scheduler(const void* card) {
  const Locked lock(making_queue);
  if (commands_left(card) == 0) {
    as<Function>(original_init)(card);
  }
}

/// Waits until no command of this `xrt_core::device` is left, null: of any; false where the next
/// does not end.
bool await_commands(const void* card) {
  unsigned before = 0;
  Nanoseconds until = 0;
  for (unsigned left = commands_left(card); left != 0; left = commands_left(card)) {
    const Nanoseconds now = real_time(CLOCK_MONOTONIC);
    if (std::exchange(before, left) != left) {
      until = now + most_for_end;
    }
    if (is_scheduler() || now > until) {
      return false;
    }
    really_sleep(between_looks);
  }
  return true;
}

/// At the program's end. XRT's would abort where a kernel runs on; a board's driver ends it.
void end_scheduler() {
  end_waiting_kernels(process::Ending::program);
  await_commands(nullptr);
  as<decltype(end_scheduler)>(original_end)();
}

}  // namespace

constinit Submissions xrt_submissions;
constinit Scheduler xrt_scheduler;

void Scheduler::forget() {
  forget_commands();
  making_queue = false;
  completing = false;
  xrt_submissions.forget();
  taken = xrt_submissions.given();
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
  const std::array thread = {
      Redirection{"_ZN8xrt_core3sws5startEv", address_of(begin_scheduler), &original_begin},
      Redirection{"_ZN8xrt_core3sws4initEPNS_6deviceE", address_of(init_scheduler), &original_init},
      Redirection{"_ZN8xrt_core3sws4stopEv", address_of(end_scheduler), &original_end}};
  redirect_calls(library, code, thread);
  looked_for = true;
  device_of_handle = dlsym(library, "_ZN8xrt_core17get_userpf_deviceEPv");
  Dl_info found{};
  if (original_init != nullptr && dladdr(original_init, &found) != 0) {
    know_commands(found.dli_fname);
  }
}

bool end_kernels(void* handle, unsigned card) {
  if (device_of_handle == nullptr) {
    return true;
  }
  const auto device = as<std::shared_ptr<const void>(void*)>(device_of_handle)(handle);
  if (device == nullptr || commands_left(device.get()) == 0) {
    return true;
  }
  end_waiting_kernels(process::Ending::bitstream, card);
  const bool ended = await_commands(device.get());
  end_waiting_kernels(process::Ending::none, card);
  if (has_card()) {
    program_time.raise(xrt_scheduler.last_end);
  }
  return ended;
}

bool waits_for_command() { return awaits_command; }

/// Where XRT's start of its scheduler was not found, each thread of that library that begins since.
bool starts_scheduler() { return starts || (looked_for && original_begin == nullptr); }

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
  xrt_scheduler.parked = false;  // one that began with commands to take has never been
  const unsigned given = xrt_submissions.given();
  const bool acted = xrt_scheduler.acted.exchange(false);
  const bool takes = xrt_scheduler.taken != given;
  xrt_scheduler.idle = !acted && !takes;
  xrt_scheduler.steps += acted || takes ? 1 : 0;
  xrt_scheduler.taken = given;
  // It has nothing to do before. While a kernel runs its end may be.
  const bool next = xrt_submissions.any_to_start() && xrt_scheduler.running == 0;
  if (next && has_card()) {
    program_time.raise(xrt_submissions.next());
  }
}

void on_scheduler_unlocked() {
  if (xrt_scheduler.completing && is_scheduler()) {
    ++xrt_scheduler.steps;
    xrt_scheduler.completing = false;
  }
}

void on_signalled() {
  const void* const command = std::exchange(gives, nullptr);
  const bool of_program = is_of_program();
  if (command != nullptr || (of_program && original_start == nullptr)) {
    if (of_program) {  // else it is a callback in the scheduler
      xrt_scheduler.list = last_locked;
    }
    xrt_submissions.add(has_card() ? program_time.now() : 0);
  } else if (is_scheduler()) {
    release_completed();
  }
}

void on_parked(bool parked) {
  if (is_scheduler()) {
    xrt_scheduler.parked = parked;
    // What was started anew before it was released is there twice.
    while (parked && release_completed()) {
    }
    // Commands that start no kernel are done, too.
    const unsigned given = xrt_submissions.given();
    if (parked && given == xrt_scheduler.taken) {
      xrt_submissions.start_all(given);
    }
  }
}

}  // namespace isthmus::card::clock

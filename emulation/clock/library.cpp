#include "library.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "lock.hpp"
#include "opencl_order.hpp"
#include "real.hpp"
#include "threads.hpp"

namespace isthmus::card::clock {
namespace {

constexpr Nanoseconds second = 1'000'000'000;

constinit Real<int(clockid_t, timespec*)> real_clock_gettime("clock_gettime");
constinit Real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");

/// With `--clock card` a thread's computing takes no time up to this duration at a stretch.
constexpr Nanoseconds free_stretch = 10'000'000;
constexpr std::size_t clocks = 12;

process::Page* mapped = nullptr;
/// Difference of each clock from the monotonic clock, when virtual time began.
constinit std::array<Nanoseconds, clocks> offset_of_clock{};

process::Page* map_page() {
  const char* path = std::getenv(process::page_variable);
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  void* mapping = mmap(nullptr, sizeof(process::Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  auto* page = static_cast<process::Page*>(mapping);
  const bool right = page->magic == process::page_magic && page->version == process::page_version;
  return right ? page : nullptr;
}

pthread_key_t ending;
pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((constructor)) void begin() {
  mapped = map_page();
  begin_thread(Role::program, 0);
  pthread_atfork(nullptr, nullptr, [] {
    forget_cards();
    deadlines.clear();
    program_time.keep_only_this();
    forget_commands();
  });
}

}  // namespace

constinit VirtualTime program_time({.processor_time = processor_time,
                                    .runs = runs,
                                    .waits_outside = waits_outside,
                                    .this_thread = this_thread});
constinit Deadlines deadlines;
constinit Stamps stamps;

process::Page* page() { return mapped; }

bool is_virtual() { return mapped != nullptr && mapped->clock != 0; }

Nanoseconds real_time(clockid_t clock) {
  timespec time{};
  return real_clock_gettime(clock, &time) == 0 ? time.tv_sec * second + time.tv_nsec : 0;
}

void really_sleep(Nanoseconds duration) {
  if (duration > 0) {
    const timespec time{.tv_sec = duration / second, .tv_nsec = duration % second};
    real_nanosleep(&time, nullptr);
  }
}

void Stamps::put(const void* place, Nanoseconds time) {
  std::atomic<Nanoseconds>& stamp = times_[index_of(place)];
  Nanoseconds before = stamp;
  while (before < time && !stamp.compare_exchange_weak(before, time)) {
  }
}

Nanoseconds Stamps::at(const void* place) const { return times_[index_of(place)]; }

std::size_t Stamps::index_of(const void* place) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;
  return (reinterpret_cast<std::uintptr_t>(place) * golden) >> 52U;
}

void put_stamp(const void* place) {
  if (time_has_started()) {
    stamps.put(place, program_time.now());
  }
}

void follow_stamp(const void* place) {
  if (time_has_started() && stamps.at(place) > VirtualTime::seen()) {
    program_time.raise(stamps.at(place));
  }
}

const void* place_of(pthread_t thread) {
  return reinterpret_cast<const void*>(thread);  // NOLINT(*-no-int-to-ptr)
}

void begin_thread(Role role, Nanoseconds began, VirtualTime::Thread* place) {
  program_time.add(role, began, place);
  pthread_once(&once, [] {
    pthread_key_create(&ending,
                       [](void*) { stamps.put(place_of(pthread_self()), program_time.remove()); });
  });
  pthread_setspecific(ending, &once);
}

bool keeps(clockid_t clock) {
  if (VirtualTime::role() == Role::shim) {
    return false;
  }
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
      return true;
    default:
      return false;
  }
}

void start_time() {
  if (program_time.has_started() || !is_virtual()) {
    return;
  }
  const Nanoseconds now = real_time(CLOCK_MONOTONIC);
  for (std::size_t clock = 0; clock < clocks; ++clock) {
    if (keeps(static_cast<clockid_t>(clock))) {
      offset_of_clock[clock] = real_time(static_cast<clockid_t>(clock)) - now;
    }
  }
  // A coarse clock lags by up to a step; the virtual one does not.
  offset_of_clock[CLOCK_REALTIME_COARSE] = offset_of_clock[CLOCK_REALTIME];
  offset_of_clock[CLOCK_MONOTONIC_COARSE] = 0;
  program_time.start(now, mapped->clock == process::clock_of_card ? free_stretch : 0);
}

Nanoseconds clock_now(clockid_t clock) {
  return program_time.now() + offset_of_clock[static_cast<std::size_t>(clock)];
}

Deadlines::Wait* Deadlines::add(Nanoseconds deadline, const pthread_mutex_t* mutex) {
  const Locked lock(locked_);
  auto* const free =
      std::ranges::find_if(waits_, [](const Wait& wait) { return wait.thread == 0; });
  if (free == waits_.end()) {
    return nullptr;
  }
  *free = {.thread = this_thread(), .deadline = deadline, .mutex = mutex};
  ++count_;
  return free;
}

void Deadlines::remove(Wait& wait) {
  const Locked lock(locked_);
  wait = {};
  --count_;
}

Nanoseconds Deadlines::earliest() {
  if (count_ == 0) {
    return none;
  }
  const Locked lock(locked_);  // no wait is removed meanwhile, so its mutex still exists
  Nanoseconds earliest = none;
  for (const Wait& wait : waits_) {
    if (wait.thread == 0 || wait.deadline >= earliest) {
      continue;
    }
    const pid_t holder =
        wait.mutex == nullptr ? 0 : __atomic_load_n(&wait.mutex->__data.__owner, __ATOMIC_RELAXED);
    if (holder == 0 || holder == wait.thread) {
      earliest = wait.deadline;
    }
  }
  return earliest;
}

void Deadlines::clear() {
  locked_ = false;
  waits_ = {};
  count_ = 0;
}

}  // namespace isthmus::card::clock

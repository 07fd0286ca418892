// Stands in front of the functions by which programs sleep, and wait for conditions and futexes.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "real.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card::clock;

constinit Real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");
constinit Real<int(clockid_t, int, const timespec*, timespec*)> real_clock_nanosleep(
    "clock_nanosleep");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_cond_wait(
    "pthread_cond_clockwait");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*)> real_untimed_wait("pthread_cond_wait");
constinit Real<int(pthread_cond_t*)> real_signal("pthread_cond_signal");
constinit Real<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
constinit Real<long(long, ...)> real_syscall("syscall");

int sleep_until(Nanoseconds deadline, timespec* rest) {
  int result = 0;
  wait_until(deadline, [&result](Nanoseconds duration) {
    if (duration == 0) {
      return true;
    }
    const timespec time = as_timespec(duration);
    result = real_nanosleep(&time, nullptr);
    return result != 0;
  });
  if (result != 0 && rest != nullptr) {
    *rest = as_timespec(std::max<Nanoseconds>(deadline - program_time.now(), 0));
  }
  return result;
}

int sleep_for(const timespec* time, timespec* rest, const void* caller) {
  if (!is_time(time) || !follows(caller)) {
    return real_nanosleep(time, rest);
  }
  return sleep_until(program_time.now() + from(*time), rest);
}

/// Counts the signals of conditions, by address, so that a signal between two slices is not lost.
constinit std::array<std::atomic<unsigned>, 256> signals{};

/// Returns where glibc stores that a condition uses the monotonic clock: the byte's index times
/// 256, plus the bit. glibc 2.41 moved the bit, so two conditions are compared, one of each clock.
unsigned monotonic_bit() {
  using Bytes = std::array<unsigned char, sizeof(pthread_cond_t)>;
  pthread_condattr_t attributes{};
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t other{};
  pthread_cond_t usual{};
  pthread_cond_init(&other, &attributes);
  pthread_cond_init(&usual, nullptr);
  Bytes monotonic{};
  Bytes realtime{};
  std::memcpy(monotonic.data(), &other, monotonic.size());
  std::memcpy(realtime.data(), &usual, realtime.size());
  for (unsigned index = 0; index < monotonic.size(); ++index) {
    if (const unsigned bit = monotonic[index] ^ realtime[index]; bit != 0) {
      return index * 256 + bit;
    }
  }
  return 0;
}

bool is_monotonic(const pthread_cond_t& condition) {
  static constinit std::atomic<unsigned> cached_place{0};  // threads that race store the same value
  unsigned place = cached_place;
  if (place == 0) {
    place = monotonic_bit();
    cached_place = place;
  }
  std::array<unsigned char, sizeof(pthread_cond_t)> bytes{};
  std::memcpy(bytes.data(), &condition, bytes.size());
  return (bytes[place / 256] & place % 256) != 0;
}

std::atomic<unsigned>& signals_of(const pthread_cond_t* condition) {
  const auto address = reinterpret_cast<std::uintptr_t>(condition);
  return signals[(address / alignof(pthread_cond_t)) % signals.size()];
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, Nanoseconds deadline) {
  const std::atomic<unsigned>& signalled = signals_of(condition);
  const unsigned before = signalled;
  int result = ETIMEDOUT;
  wait_until(
      deadline,
      [&](Nanoseconds duration) {
        const timespec end = in_real_time(duration);
        result = real_cond_wait(condition, mutex, CLOCK_MONOTONIC, &end);
        if (result == ETIMEDOUT && signalled != before) {
          result = 0;
        }
        return result != ETIMEDOUT;
      },
      mutex);
  if (result == 0) {
    follow_stamp(condition);
  }
  return result;
}

/// Converts a system call's argument to the pointer that it is.
const timespec* as_time(long address) {
  return reinterpret_cast<const timespec*>(address);  // NOLINT(*-no-int-to-ptr)
}

/// Waits for a futex, as std::future does by a system call of its own.
long wait_for_futex(const std::array<long, 6>& arguments) {
  std::array<long, 6> futex = arguments;
  const bool absolute = (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  const clockid_t clock =
      (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  futex[1] &= ~static_cast<long>(FUTEX_CLOCK_REALTIME);
  const timespec& time = *as_time(arguments[3]);
  const Nanoseconds deadline =
      absolute ? deadline_of(clock, time) : program_time.now() + from(time);
  long result = -1;
  errno = ETIMEDOUT;
  wait_until(deadline, [&](Nanoseconds duration) {
    const timespec end = absolute ? in_real_time(duration) : as_timespec(duration);
    futex[3] = reinterpret_cast<long>(&end);
    result = real_syscall(SYS_futex, futex[0], futex[1], futex[2], futex[3], futex[4], futex[5]);
    return result == 0 || errno != ETIMEDOUT;
  });
  return result;
}

}  // namespace

ISTHMUS_INTERPOSED int nanosleep(const timespec* time, timespec* rest) {
  return sleep_for(time, rest, __builtin_return_address(0));
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*)
ISTHMUS_INTERPOSED int __nanosleep(const timespec* time, timespec* rest) {
  return sleep_for(time, rest, __builtin_return_address(0));
}

/// Returns -1 if a signal ended the sleep, another negative number for any other error (C11,
/// 7.26.5.7).
ISTHMUS_INTERPOSED int thrd_sleep(const timespec* time, timespec* rest) {
  const int before = errno;
  const int result = sleep_for(time, rest, __builtin_return_address(0)) == 0 ? 0 : errno;
  errno = before;
  if (result == 0) {
    return 0;
  }
  return result == EINTR ? -1 : -2;
}

ISTHMUS_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                       timespec* rest) {
  if (!is_time(time) || !keeps(clock) || !follows(__builtin_return_address(0))) {
    return real_clock_nanosleep(clock, flags, time, rest);
  }
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const Nanoseconds deadline =
      absolute ? deadline_of(clock, *time) : program_time.now() + from(*time);
  const int before = errno;
  const int result = sleep_until(deadline, absolute ? nullptr : rest) == 0 ? 0 : errno;
  errno = before;
  return result;
}

ISTHMUS_INTERPOSED unsigned sleep(unsigned seconds) {
  const timespec time{.tv_sec = static_cast<std::time_t>(seconds), .tv_nsec = 0};
  timespec rest{};
  if (!follows(__builtin_return_address(0))) {
    return real_nanosleep(&time, &rest) == 0 ? 0 : static_cast<unsigned>(rest.tv_sec);
  }
  const int result = sleep_until(program_time.now() + from(time), &rest);
  return result == 0 ? 0 : static_cast<unsigned>(rest.tv_sec);
}

ISTHMUS_INTERPOSED int usleep(useconds_t microseconds) {
  const timespec time = as_timespec(static_cast<Nanoseconds>(microseconds) * 1000);
  if (!follows(__builtin_return_address(0))) {
    return real_nanosleep(&time, nullptr);
  }
  return sleep_until(program_time.now() + from(time), nullptr);
}

ISTHMUS_INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  VirtualTime::park(condition);
  const int result = real_untimed_wait(condition, mutex);
  VirtualTime::park(nullptr);
  follow_stamp(condition);
  return result;
}

ISTHMUS_INTERPOSED int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  ++signals_of(condition);
  put_stamp(condition);
  program_time.unpark(condition);
  return real_signal(condition);
}

ISTHMUS_INTERPOSED int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  ++signals_of(condition);
  put_stamp(condition);
  program_time.unpark(condition);
  return real_broadcast(condition);
}

ISTHMUS_INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                              clockid_t clock, const timespec* time) {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_cond_wait(condition, mutex, clock, time);
  }
  return wait_for_condition(condition, mutex, deadline_of(clock, *time));
}

ISTHMUS_INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                              const timespec* time) {
  const clockid_t clock = is_monotonic(*condition) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_cond_wait(condition, mutex, clock, time);
  }
  return wait_for_condition(condition, mutex, deadline_of(clock, *time));
}

ISTHMUS_INTERPOSED long syscall(long number, ...) noexcept {
  std::array<long, 6> values{};
  va_list rest;
  va_start(rest, number);
  for (long& each : values) {
    each = va_arg(rest, long);
  }
  va_end(rest);
  const long command = values[1] & FUTEX_CMD_MASK;
  const bool waits = number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
  const bool wakes = number == SYS_futex && (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET);
  const auto* const place = reinterpret_cast<const void*>(values[0]);  // NOLINT(*-no-int-to-ptr)
  if (wakes) {
    put_stamp(place);
  }
  const bool timed = waits && is_time(as_time(values[3])) && follows(__builtin_return_address(0));
  const long result = timed ? wait_for_futex(values)
                            : real_syscall(number, values[0], values[1], values[2], values[3],
                                           values[4], values[5]);
  if (waits) {
    follow_stamp(place);
  }
  return result;
}

// The calls by which programs wait for a while: they end when the program's time says so.
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
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

#include "calls.hpp"
#include "library.hpp"
#include "real.hpp"

namespace {

using namespace isthmus::card::clock;

constexpr Nanoseconds second = 1'000'000'000;
constexpr Nanoseconds millisecond = 1'000'000;
/// How long a wait goes on before it looks at the program's time again.
constexpr Nanoseconds slice = 2 * millisecond;
constexpr Nanoseconds slice_with_kernel = 100'000;
constexpr Nanoseconds shortest_slice = 20'000;

constinit Real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");
constinit Real<int(clockid_t, int, const timespec*, timespec*)> real_clock_nanosleep(
    "clock_nanosleep");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_cond_wait(
    "pthread_cond_clockwait");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*)> real_untimed_wait("pthread_cond_wait");
constinit Real<int(sem_t*)> real_post("sem_post");
constinit Real<int(sem_t*)> real_untimed_sem_wait("sem_wait");
constinit Real<int(pthread_cond_t*)> real_signal("pthread_cond_signal");
constinit Real<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
constinit Real<int(pthread_mutex_t*, const timespec*)> real_timed_lock("pthread_mutex_timedlock");
constinit Real<int(pthread_mutex_t*, clockid_t, const timespec*)> real_clock_lock(
    "pthread_mutex_clocklock");
constinit Real<int(sem_t*, clockid_t, const timespec*)> real_sem_wait("sem_clockwait");
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real_ppoll("ppoll");
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real_pselect(
    "pselect");
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> real_epoll("epoll_pwait");
constinit Real<long(long, ...)> real_syscall("syscall");

/// Longer than any program runs, and far from where sums of times overflow.
constexpr Nanoseconds longest = Nanoseconds{1} << 62;

Nanoseconds from(const timespec& time) {
  return time.tv_sec >= longest / second ? longest : time.tv_sec * second + time.tv_nsec;
}

timespec as_timespec(Nanoseconds time) {
  return {.tv_sec = time / second, .tv_nsec = time % second};
}

timespec in_real_time(Nanoseconds duration, clockid_t clock = CLOCK_MONOTONIC) {
  return as_timespec(real_time(clock) + duration);
}

/// Whether a wait has to follow the program's time: nothing else is there before a card is open,
/// and the shim waits for the device process, which is real.
bool follows(const void* caller) {
  return has_card() && !in_shim(caller) && VirtualTime::role() != Role::shim;
}

bool is_time(const timespec* time) {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < second;
}

/// Deadline for a time on one of the program's clocks.
Nanoseconds deadline_of(clockid_t clock, const timespec& time) {
  return program_time.now() + from(time) - clock_now(clock);
}

void give_back(void* place) {
  if (place != nullptr) {
    deadlines.remove(*static_cast<Deadlines::Wait*>(place));
  }
  program_time.abandon();
}

/// Whether the program's time may go to a deadline now. Where nobody of the program waits for that,
/// it takes as long in real time: what is waited for may come from elsewhere.
bool may_end(Nanoseconds deadline, Nanoseconds left_in_real_time) {
  return (left_in_real_time <= 0 || kernel_runs() || program_time.others_leave()) &&
         is_next(deadline);
}

template <class Wait>
void wait_in_slices(Nanoseconds began, Nanoseconds deadline, Wait& wait) {
  const Nanoseconds end = real_time(CLOCK_MONOTONIC) + std::max<Nanoseconds>(deadline - began, 0);
  for (bool first = true;; first = false) {
    const Nanoseconds left = std::max<Nanoseconds>(end - real_time(CLOCK_MONOTONIC), 0);
    const bool past = program_time.now() >= deadline;
    const bool hurried = kernel_runs() || program_time.others_leave();
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

/// Waits in slices until `wait(duration)` says that it is over, or the program's time is there; at
/// least once, for that gives a mutex up, or sees files that are ready. `mutex`: locked at its end.
template <class Wait>
void wait_until(Nanoseconds deadline, Wait wait, const pthread_mutex_t* mutex = nullptr) {
  const Nanoseconds began = program_time.enter(Doing::waiting);
  // The thread may be cancelled; destructors would need the C++ library then.
  pthread_cleanup_push(give_back, deadlines.add(deadline, mutex));
  wait_in_slices(began, deadline, wait);
  pthread_cleanup_pop(1);
}

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

/// How often conditions were signalled, by address: a signal between two slices is not lost.
constinit std::array<std::atomic<unsigned>, 256> signals{};

/// Where a condition says that pthread_condattr_setclock chose the monotonic clock: the byte's
/// index times 256, plus the bit. glibc 2.41 moved it: it is where a condition of each clock
/// differ.
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
  static constinit std::atomic<unsigned> known{0};  // threads that look at once find the same
  unsigned place = known;
  if (place == 0) {
    place = monotonic_bit();
    known = place;
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
    follow_others(condition);
  }
  return result;
}

int wait_for_mutex(pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  int result = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    // The clock that mutexes of every kind can wait by.
    const timespec end = in_real_time(duration, CLOCK_REALTIME);
    result = real_timed_lock(mutex, &end);
    return result != ETIMEDOUT;
  });
  if (result == 0) {
    follow_others(mutex);
  }
  return result;
}

int wait_for_semaphore(sem_t* semaphore, clockid_t clock, const timespec* time) {
  int result = sem_trywait(semaphore);
  if (result == 0) {
    follow_others(semaphore);
    return 0;
  }
  errno = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    const timespec end = in_real_time(duration);
    result = real_sem_wait(semaphore, CLOCK_MONOTONIC, &end);
    return result == 0 || errno != ETIMEDOUT;
  });
  if (result == 0) {
    follow_others(semaphore);
  }
  return result;
}

int wait_for_files(pollfd* files, nfds_t count, Nanoseconds duration, const sigset_t* mask) {
  int result = 0;
  wait_until(program_time.now() + duration, [&](Nanoseconds part) {
    const timespec time = as_timespec(part);
    result = real_ppoll(files, count, &time, mask);
    return result != 0;
  });
  return result;
}

int wait_for_sets(int count, const std::array<fd_set*, 3>& sets, Nanoseconds duration,
                  const sigset_t* mask) {
  std::array<fd_set, 3> wanted{};
  for (std::size_t index = 0; index < sets.size(); ++index) {
    if (sets[index] != nullptr) {
      wanted[index] = *sets[index];
    }
  }
  int result = 0;
  wait_until(program_time.now() + duration, [&](Nanoseconds part) {
    for (std::size_t index = 0; index < sets.size(); ++index) {
      if (sets[index] != nullptr) {
        *sets[index] = wanted[index];
      }
    }
    const timespec time = as_timespec(part);
    result = real_pselect(count, sets[0], sets[1], sets[2], &time, mask);
    return result != 0;
  });
  return result;
}

int wait_for_events(int epoll, epoll_event* events, int most, Nanoseconds duration,
                    const sigset_t* mask) {
  int result = 0;
  wait_until(program_time.now() + duration, [&](Nanoseconds part) {
    const auto whole = static_cast<int>((part + millisecond - 1) / millisecond);
    result = real_epoll(epoll, events, most, whole, mask);
    return result != 0;
  });
  return result;
}

/// An argument of a system call, which comes as a number.
const timespec* as_time(long address) {
  return reinterpret_cast<const timespec*>(address);  // NOLINT(*-no-int-to-ptr)
}

/// C++'s futures wait so, by a system call of their own.
long wait_for_futex(const std::array<long, 6>& given) {
  std::array<long, 6> futex = given;
  const bool absolute = (given[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  const clockid_t clock = (given[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  futex[1] &= ~static_cast<long>(FUTEX_CLOCK_REALTIME);
  const timespec& time = *as_time(given[3]);
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
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_nanosleep(time, rest);
  }
  return sleep_until(program_time.now() + from(*time), rest);
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
  // The shim's seconds of waiting for a simulator of RTL, whose signals it then polls for.
  if (learn_shim(__builtin_return_address(0))) {
    really_sleep(millisecond);
    return 0;
  }
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
  const int result = real_untimed_wait(condition, mutex);
  follow_others(condition);
  return result;
}

ISTHMUS_INTERPOSED int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  ++signals_of(condition);
  tell_others(condition);
  return real_signal(condition);
}

ISTHMUS_INTERPOSED int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  ++signals_of(condition);
  tell_others(condition);
  return real_broadcast(condition);
}

ISTHMUS_INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                              clockid_t clock, const timespec* time) {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
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

ISTHMUS_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                               const timespec* time) noexcept {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_timed_lock(mutex, time);
  }
  return wait_for_mutex(mutex, CLOCK_REALTIME, time);
}

ISTHMUS_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                               const timespec* time) noexcept {
  const bool known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  if (!known || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_clock_lock(mutex, clock, time);
  }
  return wait_for_mutex(mutex, clock, time);
}

ISTHMUS_INTERPOSED int sem_post(sem_t* semaphore) noexcept {
  tell_others(semaphore);
  return real_post(semaphore);
}

ISTHMUS_INTERPOSED int sem_wait(sem_t* semaphore) {
  const int result = real_untimed_sem_wait(semaphore);
  follow_others(semaphore);
  return result;
}

ISTHMUS_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_sem_wait(semaphore, clock, time);
  }
  return wait_for_semaphore(semaphore, clock, time);
}

ISTHMUS_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* time) {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_sem_wait(semaphore, CLOCK_REALTIME, time);
  }
  return wait_for_semaphore(semaphore, CLOCK_REALTIME, time);
}

ISTHMUS_INTERPOSED int poll(pollfd* files, nfds_t count, int milliseconds) {
  const Nanoseconds duration = milliseconds * millisecond;
  if (milliseconds <= 0 || !follows(__builtin_return_address(0))) {
    const timespec time = as_timespec(std::max<Nanoseconds>(duration, 0));
    return real_ppoll(files, count, milliseconds < 0 ? nullptr : &time, nullptr);
  }
  return wait_for_files(files, count, duration, nullptr);
}

ISTHMUS_INTERPOSED int ppoll(pollfd* files, nfds_t count, const timespec* time,
                             const sigset_t* mask) {
  if (!is_time(time) || from(*time) == 0 || !follows(__builtin_return_address(0))) {
    return real_ppoll(files, count, time, mask);
  }
  return wait_for_files(files, count, from(*time), mask);
}

ISTHMUS_INTERPOSED int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                               const timespec* time, const sigset_t* mask) {
  const bool known = count >= 0 && count <= FD_SETSIZE;
  if (!known || !is_time(time) || from(*time) == 0 || !follows(__builtin_return_address(0))) {
    return real_pselect(count, read, write, except, time, mask);
  }
  return wait_for_sets(count, {read, write, except}, from(*time), mask);
}

ISTHMUS_INTERPOSED int select(int count, fd_set* read, fd_set* write, fd_set* except,
                              timeval* time) {
  if (time == nullptr) {
    return real_pselect(count, read, write, except, nullptr, nullptr);
  }
  const timespec given = {.tv_sec = time->tv_sec, .tv_nsec = time->tv_usec * 1000};
  const Nanoseconds duration = from(given);
  const bool known = count >= 0 && count <= FD_SETSIZE && duration > 0;
  const bool follow = known && follows(__builtin_return_address(0));
  const auto now = [follow] { return follow ? program_time.now() : real_time(CLOCK_MONOTONIC); };
  const Nanoseconds began = now();
  int result = 0;
  if (follow) {
    result = wait_for_sets(count, {read, write, except}, duration, nullptr);
  } else {
    result = real_pselect(count, read, write, except, &given, nullptr);
  }
  // Linux leaves there what is left.
  const Nanoseconds left = std::max<Nanoseconds>(began + duration - now(), 0);
  *time = {.tv_sec = left / second, .tv_usec = (left % second) / 1000};
  return result;
}

ISTHMUS_INTERPOSED int epoll_pwait(int epoll, epoll_event* events, int most, int milliseconds,
                                   const sigset_t* mask) {
  if (milliseconds <= 0 || !follows(__builtin_return_address(0))) {
    return real_epoll(epoll, events, most, milliseconds, mask);
  }
  return wait_for_events(epoll, events, most, milliseconds * millisecond, mask);
}

ISTHMUS_INTERPOSED int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  if (milliseconds <= 0 || !follows(__builtin_return_address(0))) {
    return real_epoll(epoll, events, most, milliseconds, nullptr);
  }
  return wait_for_events(epoll, events, most, milliseconds * millisecond, nullptr);
}

ISTHMUS_INTERPOSED long syscall(long number, ...) noexcept {
  std::array<long, 6> given{};
  va_list arguments;
  va_start(arguments, number);
  for (long& each : given) {
    each = va_arg(arguments, long);
  }
  va_end(arguments);
  const long command = given[1] & FUTEX_CMD_MASK;
  const bool waits = number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
  const bool wakes = number == SYS_futex && (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET);
  const auto* const place = reinterpret_cast<const void*>(given[0]);  // NOLINT(*-no-int-to-ptr)
  if (wakes) {
    tell_others(place);
  }
  const bool timed = waits && has_card() && is_time(as_time(given[3]));
  const long result =
      timed ? wait_for_futex(given)
            : real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  if (waits) {
    follow_others(place);
  }
  return result;
}

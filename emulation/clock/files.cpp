// Stands in front of the functions by which programs wait for files and signals: poll, select and
// such.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "real.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card::clock;

constexpr Nanoseconds microseconds_of_a_second = 1'000'000;

constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real_ppoll("ppoll");
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real_pselect(
    "pselect");
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> real_epoll("epoll_pwait");
constinit Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)> real_epoll_exactly(
    "epoll_pwait2");
constinit Real<int(const sigset_t*, siginfo_t*, const timespec*)> real_signal_wait("sigtimedwait");

int wait_for_files(pollfd* files, nfds_t count, Nanoseconds duration, const sigset_t* mask) {
  int result = 0;
  wait_until(program_time.now() + duration, [&](Nanoseconds part) {
    const timespec time = as_timespec(part);
    result = real_ppoll(files, count, &time, mask);
    return result != 0;
  });
  return result;
}

int wait_for_files(pollfd* files, nfds_t count, const timespec* time, const sigset_t* mask,
                   const void* caller) {
  if (!is_time(time) || from(*time) == 0 || !follows(caller)) {
    return real_ppoll(files, count, time, mask);
  }
  return wait_for_files(files, count, from(*time), mask);
}

int wait_for_files(pollfd* files, nfds_t count, int milliseconds, const void* caller) {
  const timespec time = as_timespec(std::max(milliseconds, 0) * millisecond);
  return wait_for_files(files, count, milliseconds < 0 ? nullptr : &time, nullptr, caller);
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

int wait_for_sets(int count, const std::array<fd_set*, 3>& sets, timeval* time,
                  const void* caller) {
  if (time == nullptr) {
    return real_pselect(count, sets[0], sets[1], sets[2], nullptr, nullptr);
  }
  // As in glibc, a million microseconds or more are valid.
  const bool valid = time->tv_sec >= 0 && time->tv_usec >= 0;
  const auto seconds = std::min<Nanoseconds>(time->tv_sec, longest / second - 1);
  const Nanoseconds more = time->tv_usec / microseconds_of_a_second;
  const timespec timeout = {.tv_sec = valid ? std::min(seconds + more, longest / second) : -1,
                            .tv_nsec = time->tv_usec % microseconds_of_a_second * 1000};
  const Nanoseconds duration = valid ? from(timeout) : 0;
  const bool is_valid = count >= 0 && count <= FD_SETSIZE && duration > 0;
  const bool follow = is_valid && follows(caller);
  const auto now = [follow] { return follow ? program_time.now() : real_time(CLOCK_MONOTONIC); };
  const Nanoseconds began = now();
  int result = 0;
  if (follow) {
    result = wait_for_sets(count, sets, duration, nullptr);
  } else {
    result = real_pselect(count, sets[0], sets[1], sets[2], &timeout, nullptr);
  }
  // Linux writes the time that is left to the argument.
  if (valid) {
    const Nanoseconds left = std::max<Nanoseconds>(began + duration - now(), 0);
    *time = {.tv_sec = left / second, .tv_usec = (left % second) / 1000};
  }
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

}  // namespace

/// Function of glibc that ends a program with _FORTIFY_SOURCE if an array is too short. The
/// functions below whose names end in _chk get the array's size as `bytes`.
extern "C" [[noreturn]] void __chk_fail();  // NOLINT(*-reserved-identifier,cert-dcl*)

ISTHMUS_INTERPOSED int poll(pollfd* files, nfds_t count, int milliseconds) {
  return wait_for_files(files, count, milliseconds, __builtin_return_address(0));
}

ISTHMUS_INTERPOSED int ppoll(pollfd* files, nfds_t count, const timespec* time,
                             const sigset_t* mask) {
  return wait_for_files(files, count, time, mask, __builtin_return_address(0));
}

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*)
ISTHMUS_INTERPOSED int __poll(pollfd* files, nfds_t count, int milliseconds) {
  return wait_for_files(files, count, milliseconds, __builtin_return_address(0));
}

ISTHMUS_INTERPOSED int __poll_chk(pollfd* files, nfds_t count, int milliseconds,
                                  std::size_t bytes) {
  if (bytes / sizeof(pollfd) < count) {
    __chk_fail();
  }
  return wait_for_files(files, count, milliseconds, __builtin_return_address(0));
}

ISTHMUS_INTERPOSED int __ppoll_chk(pollfd* files, nfds_t count, const timespec* time,
                                   const sigset_t* mask, std::size_t bytes) {
  if (bytes / sizeof(pollfd) < count) {
    __chk_fail();
  }
  return wait_for_files(files, count, time, mask, __builtin_return_address(0));
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*)

ISTHMUS_INTERPOSED int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                               const timespec* time, const sigset_t* mask) {
  const bool is_valid = count >= 0 && count <= FD_SETSIZE;
  if (!is_valid || !is_time(time) || from(*time) == 0 || !follows(__builtin_return_address(0))) {
    return real_pselect(count, read, write, except, time, mask);
  }
  return wait_for_sets(count, {read, write, except}, from(*time), mask);
}

ISTHMUS_INTERPOSED int select(int count, fd_set* read, fd_set* write, fd_set* except,
                              timeval* time) {
  return wait_for_sets(count, {read, write, except}, time, __builtin_return_address(0));
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*)
ISTHMUS_INTERPOSED int __select(int count, fd_set* read, fd_set* write, fd_set* except,
                                timeval* time) {
  return wait_for_sets(count, {read, write, except}, time, __builtin_return_address(0));
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

ISTHMUS_INTERPOSED int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* time,
                                    const sigset_t* mask) {
  if (!is_time(time) || from(*time) == 0 || !follows(__builtin_return_address(0))) {
    return real_epoll_exactly(epoll, events, most, time, mask);
  }
  return wait_for_events(epoll, events, most, from(*time), mask);
}

ISTHMUS_INTERPOSED int sigtimedwait(const sigset_t* signals, siginfo_t* info,
                                    const timespec* time) {
  if (!is_time(time) || from(*time) == 0 || !follows(__builtin_return_address(0))) {
    return real_signal_wait(signals, info, time);
  }
  int result = -1;
  wait_until(program_time.now() + from(*time), [&](Nanoseconds part) {
    const timespec slice_time = as_timespec(part);
    result = real_signal_wait(signals, info, &slice_time);
    return result >= 0 || errno != EAGAIN;
  });
  return result;
}

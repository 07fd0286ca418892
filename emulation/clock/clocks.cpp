// Stands in front of the functions by which programs read clocks: they return virtual time.
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <unistd.h>

#include <ctime>

#include "library.hpp"
#include "real.hpp"

namespace {

using namespace isthmus::card::clock;

constexpr Nanoseconds second = 1'000'000'000;
constinit Real<int(clockid_t, timespec*)> real_clock_gettime("clock_gettime");
constinit Real<clock_t(tms*)> real_times("times");

timespec as_timespec(Nanoseconds time) {
  return {.tv_sec = time / second, .tv_nsec = time % second};
}

/// Returns CLOCK_REALTIME as the program sees it: virtual once virtual time has started.
timespec programs_realtime() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

}  // namespace

ISTHMUS_INTERPOSED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!time_has_started() || !keeps(clock)) {
    return real_clock_gettime(clock, time);
  }
  *time = as_timespec(clock_now(clock));
  return 0;
}

/// Returns the time; fills the zone with zeros, as glibc does since 2.31.
ISTHMUS_INTERPOSED int gettimeofday(timeval* time, void* zone) noexcept {
  if (zone != nullptr) {
    *static_cast<struct timezone*>(zone) = {};
  }
  const timespec now = programs_realtime();
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*)
ISTHMUS_INTERPOSED int __gettimeofday(timeval* time, void* zone) noexcept {
  return gettimeofday(time, zone);
}

ISTHMUS_INTERPOSED std::time_t time(std::time_t* into) noexcept {
  const std::time_t now = programs_realtime().tv_sec;
  if (into != nullptr) {
    *into = now;
  }
  return now;
}

ISTHMUS_INTERPOSED int ftime(timeb* time) {
  const timespec now = programs_realtime();
  constexpr long nanoseconds_of_a_millisecond = 1'000'000;
  *time = {.time = now.tv_sec,
           .millitm = static_cast<unsigned short>(now.tv_nsec / nanoseconds_of_a_millisecond),
           .timezone = 0,
           .dstflag = 0};
  return 0;
}

/// Returns the system's ticks, plus virtual time minus real time.
ISTHMUS_INTERPOSED clock_t times(tms* used) noexcept {
  const clock_t real = real_times(used);
  if (!time_has_started() || real == -1) {
    return real;
  }
  const Nanoseconds tick = second / sysconf(_SC_CLK_TCK);
  return real + (clock_now(CLOCK_MONOTONIC) - real_time(CLOCK_MONOTONIC)) / tick;
}

ISTHMUS_INTERPOSED int timespec_get(timespec* time, int base) noexcept {
  if (base != TIME_UTC) {
    return 0;
  }
  *time = programs_realtime();
  return base;
}

// The calls by which programs read clocks.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>

#include "library.hpp"
#include "real.hpp"

namespace {

using namespace isthmus::card::clock;

constexpr Nanoseconds second = 1'000'000'000;
constinit Real<int(clockid_t, timespec*)> real_clock_gettime("clock_gettime");

timespec as_timespec(Nanoseconds time) {
  return {.tv_sec = time / second, .tv_nsec = time % second};
}

timespec wall_clock() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

}  // namespace

ISTHMUS_INTERPOSED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!has_card() || !keeps(clock)) {
    return real_clock_gettime(clock, time);
  }
  *time = as_timespec(clock_now(clock));
  return 0;
}

ISTHMUS_INTERPOSED int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  const timespec now = wall_clock();
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

ISTHMUS_INTERPOSED std::time_t time(std::time_t* into) noexcept {
  const std::time_t now = wall_clock().tv_sec;
  if (into != nullptr) {
    *into = now;
  }
  return now;
}

ISTHMUS_INTERPOSED int timespec_get(timespec* time, int base) noexcept {
  if (base != TIME_UTC) {
    return 0;
  }
  *time = wall_clock();
  return base;
}

#include "isthmus/clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace isthmus {
namespace {

/// Seconds of each of two calibrations. Their ends are known to about 20 ns, so that both together
/// give the scale to about 5e-6. Every worker spends this time.
constexpr double calibration_s = 0.005;
/// Largest relative difference between two calibrations of a steady clock, beyond the uncertainty
/// of their ends.
constexpr double steady = 1e-4;

/// CPUID Fn8000_0007 EDX[8]: the TSC runs at one rate in all power states (Intel SDM vol. 3,
/// "Invariant TSC"; AMD APM vol. 3, CPUID).
bool tsc_is_invariant() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
#else
  return false;
#endif
}

#if defined(__x86_64__)
/// One instant on the TSC and on CLOCK_MONOTONIC_RAW; the reading takes `bracket` ticks.
struct Instant {
  Ticks tsc = 0;
  Ticks raw_ns = 0;
  Ticks bracket = ~Ticks{0};
};

/// Reads both clocks many times and returns the reading that took fewest ticks, because an
/// interruption between the two clocks makes a reading longer.
Instant read_both() {
  Instant best;
  for (int i = 0; i < 200; ++i) {
    _mm_lfence();
    const Ticks before = __rdtsc();
    const Ticks raw = HostClock::raw_nanoseconds();
    unsigned cpu = 0;
    const Ticks after = __rdtscp(&cpu);
    if (after - before < best.bracket) {
      best = {before + (after - before) / 2, raw, after - before};
    }
  }
  return best;
}

struct Scale {
  double seconds_per_tick = 0;
  double uncertainty = 0;
};

/// Returns seconds per tick between two instants; each instant is uncertain by half its bracket.
Scale scale_between(const Instant& from, const Instant& to) {
  const auto ticks = static_cast<double>(to.tsc - from.tsc);
  const double seconds = static_cast<double>(to.raw_ns - from.raw_ns) * 1e-9;
  const double slack = 0.5 * static_cast<double>(from.bracket + to.bracket);
  return {seconds / ticks, slack / ticks};
}

Instant wait_and_read(const Instant& from) {
  while (static_cast<double>(HostClock::raw_nanoseconds() - from.raw_ns) * 1e-9 < calibration_s) {
  }
  return read_both();
}
#endif

}  // namespace

std::string to_string(ClockDomain domain) {
  constexpr std::array names = {"host", "device", "simulated", "hybrid"};
  return names[static_cast<std::size_t>(domain)];
}

HostClock::HostClock() {
  info_.source = "monotonic_raw";
  info_.seconds_per_tick = 1e-9;
  const char* wanted = std::getenv("ISTHMUS_CLOCK");
  if (wanted != nullptr && std::string_view(wanted) == "monotonic_raw") {
    info_.reason = "asked for by ISTHMUS_CLOCK";
  } else if (!tsc_is_invariant()) {
    info_.reason = "the TSC is not invariant here";
  } else {
#if defined(__x86_64__)
    const Instant first = read_both();
    const Instant middle = wait_and_read(first);
    const Instant last = wait_and_read(middle);
    const Scale early = scale_between(first, middle);
    const Scale late = scale_between(middle, last);
    const double apart = std::abs(early.seconds_per_tick / late.seconds_per_tick - 1.0);
    if (apart > steady + early.uncertainty + late.uncertainty) {
      info_.reason = "the TSC is not steady against CLOCK_MONOTONIC_RAW";
    } else {
      const Scale whole = scale_between(first, last);
      tsc_ = true;
      info_.source = "tsc";
      info_.reason = "invariant and steady";
      info_.seconds_per_tick = whole.seconds_per_tick;
      // Both halves share the middle reading: half of their difference may be an error of the
      // whole.
      info_.uncertainty = std::max(whole.uncertainty, apart / 2);
    }
#endif
  }

  std::vector<Ticks> pairs(10'001);
  for (Ticks& pair : pairs) {
    const Ticks begin = start();
    pair = stop() - begin;
  }
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
  std::nth_element(pairs.begin(), middle, pairs.end());
  info_.empty_pair_s = seconds(*middle);

  Ticks step = ~Ticks{0};
  for (int i = 0; i < 10'000; ++i) {
    const Ticks begin = stop();
    Ticks next = stop();
    while (next == begin) {
      next = stop();
    }
    step = std::min(step, next - begin);
  }
  // All differences of readings are multiples of the clock's step: it is their common divisor.
  Ticks divisor = step;
  for (const Ticks pair : pairs) {
    Ticks a = pair;
    while (a != 0) {
      const Ticks rest = divisor % a;
      divisor = a;
      a = rest;
    }
  }
  info_.resolution_s = seconds(divisor);
}

const HostClock& HostClock::instance() {
  static const HostClock clock;
  return clock;
}

}  // namespace isthmus

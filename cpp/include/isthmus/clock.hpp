// The host's clock: the TSC, calibrated against CLOCK_MONOTONIC_RAW, or CLOCK_MONOTONIC_RAW itself.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace isthmus {

/// The clock that measured a duration. Durations of different clocks are never added, and compared
/// only with a label.
enum class ClockDomain : std::uint8_t { host, device, simulated, hybrid };

std::string to_string(ClockDomain domain);

using Ticks = std::uint64_t;

/// Properties of the host's clock, which are stored with a run's results.
struct ClockInfo {
  std::string source;           ///< "tsc" or "monotonic_raw"
  std::string reason;           ///< why this source was chosen
  double seconds_per_tick = 0;  ///< scale of raw ticks
  double uncertainty = 0;       ///< relative uncertainty of seconds_per_tick
  double resolution_s = 0;      ///< smallest difference between two different readings
  double empty_pair_s = 0;      ///< median seconds of a timed interval without work
};

/// The clock of this process, calibrated at first use (about 10 ms).
///
/// Fences in `start` and `stop` keep the timed region between them: earlier work is done before
/// `start` reads (LFENCE; RDTSC; LFENCE), the region is done before `stop` reads (RDTSCP; LFENCE).
/// Intel SDM vol. 2, RDTSC and RDTSCP; AMD APM vol. 3 says the same of LFENCE.
class HostClock {
 public:
  /// Returns the clock of this process. `ISTHMUS_CLOCK=monotonic_raw` in the environment forbids
  /// the TSC.
  static const HostClock& instance();

  [[nodiscard]] Ticks start() const noexcept {
#if defined(__x86_64__)
    if (tsc_) {
      _mm_lfence();
      const Ticks now = __rdtsc();
      _mm_lfence();
      return now;
    }
#endif
    return raw_nanoseconds();
  }

  [[nodiscard]] Ticks stop() const noexcept {
#if defined(__x86_64__)
    if (tsc_) {
      unsigned cpu = 0;
      const Ticks now = __rdtscp(&cpu);
      _mm_lfence();
      return now;
    }
#endif
    return raw_nanoseconds();
  }

  [[nodiscard]] double seconds(Ticks ticks) const noexcept {
    return static_cast<double>(ticks) * info_.seconds_per_tick;
  }
  [[nodiscard]] const ClockInfo& info() const noexcept { return info_; }

  /// Returns CLOCK_MONOTONIC_RAW in nanoseconds.
  static Ticks raw_nanoseconds() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<Ticks>(now.tv_sec) * 1'000'000'000U + static_cast<Ticks>(now.tv_nsec);
  }

 private:
  HostClock();
  bool tsc_ = false;
  ClockInfo info_;
};

}  // namespace isthmus

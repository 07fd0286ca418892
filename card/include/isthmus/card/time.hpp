// Simulated time in whole femtoseconds, and its conversion from parameters of boards.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace isthmus::card {

using Time = std::int64_t;

inline constexpr Time nanosecond = 1'000'000;
inline constexpr Time second = 1'000'000'000 * nanosecond;

/// A simulated time would exceed 2.5 hours, the most that 64 bits of femtoseconds hold.
class TooLongError : public std::runtime_error {
 public:
  TooLongError() : std::runtime_error("this takes more than 2.5 hours of simulated time") {}
};

/// Converts to the nearest femtosecond; halves round away from zero.
inline Time from_nanoseconds(double nanoseconds) {
  return std::llround(nanoseconds * static_cast<double>(nanosecond));
}

/// Time per unit (byte, cycle) in steps of 2^-20 fs, so that the time of many units is exact.
class Pace {
 public:
  Pace() = default;
  explicit Pace(double femtoseconds_per_unit)
      : scaled_(std::llround(femtoseconds_per_unit * static_cast<double>(one))) {}

  static Pace of_rate(double units_per_second) {
    return Pace(static_cast<double>(second) / units_per_second);
  }
  static Pace of_clock(double megahertz) { return of_rate(megahertz * 1e6); }

  /// Returns the time of `units` units, to the nearest femtosecond; halves round up.
  [[nodiscard]] Time of(std::int64_t units) const {
    const Wide product = (static_cast<Wide>(scaled_) * units + one / 2) / one;
    if (product > std::numeric_limits<Time>::max()) {
      throw TooLongError();
    }
    return static_cast<Time>(product);
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr std::int64_t one = std::int64_t{1} << 20U;
  std::int64_t scaled_ = 0;
};

}  // namespace isthmus::card

// The confidence interval of a median, and the rule that ends a series once it is narrow enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace isthmus {

/// A median with its two-sided confidence interval, in the unit of the samples.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;

  /// Larger of the two half-widths, relative to the median; infinite for a median of 0.
  [[nodiscard]] double relative_half_width() const noexcept;
};

/// Distribution-free interval of the median: from the k-th smallest to the k-th largest sample,
/// with the largest k whose exact binomial coverage is at least `confidence` (David and Nagaraja,
/// "Order Statistics", 3rd ed., section 7.1). The excess coverage of up to 2 % compensates several
/// looks at a growing series. Equal samples are first spread evenly over `resolution` (the step of
/// the clock), and the interval is at least that step wide.
///
/// For fewer than 6 samples no two order statistics cover 95 %: the interval is then the whole
/// range. Throws std::invalid_argument without samples, for a sample that is NaN, or for a
/// confidence outside (0, 1).
Interval median_interval(std::span<const double> samples, double confidence = 0.95,
                         double resolution = 0.0);

/// Estimates a clock's step from its samples: the smallest difference between two different
/// samples, or 0 if all are equal.
double step_of(std::span<const double> samples);

/// Number of samples at which a series' interval is first looked at.
inline constexpr std::size_t first_look = 25;

/// Ends a series when the relative half-width of its interval is at most `precision`, or at the
/// most samples.
///
/// Looks at the interval only on a doubling schedule: at `first_look` samples, or at the postponed
/// first look, then at twice as many each time. To look after every sample and stop at the first
/// narrow interval would make a 95 % interval cover about 90 %.
class StoppingCriterion {
 public:
  enum class Verdict : std::uint8_t { go_on, converged, capped };

  StoppingCriterion(double precision, std::size_t max_samples, double confidence = 0.95,
                    std::size_t first_check = first_look);

  /// Returns the number of samples at the next look.
  [[nodiscard]] std::size_t next_check() const noexcept { return next_check_; }

  /// Looks at the interval if there are `next_check` samples, else returns `go_on`.
  Verdict look(std::span<const double> samples, double resolution = 0.0);

  /// Postpones the next look to `samples` samples, at most the cap, for a series that may not end
  /// yet. An omitted look does not reduce the coverage.
  void postpone(std::size_t samples) noexcept;

 private:
  double precision_;
  double confidence_;
  std::size_t max_samples_;
  std::size_t next_check_;
};

}  // namespace isthmus

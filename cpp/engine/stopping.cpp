#include "isthmus/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace isthmus {
namespace {

/// P(k <= X <= n - k) for X ~ Binomial(n, 1/2): the coverage of the interval between the k-th
/// smallest and the k-th largest of n samples.
double coverage(std::size_t n, std::size_t k) {
  // The lower tail P(X < k) is summed in logarithms, because 2^-n underflows from n = 1075.
  const double log_half = -static_cast<double>(n) * std::numbers::ln2;
  const double log_n = std::lgamma(static_cast<double>(n) + 1.0);
  double tail = 0;
  for (std::size_t i = k; i-- > 0;) {
    const auto x = static_cast<double>(i);
    const double term = std::exp(log_n - std::lgamma(x + 1.0) -
                                 std::lgamma(static_cast<double>(n) - x + 1.0) + log_half);
    tail += term;
    if (term < 1e-18) {
      break;
    }
  }
  return 1.0 - 2.0 * tail;
}

/// Returns the largest k with at least this coverage, or 0 if even the whole range has less.
std::size_t outer_rank(std::size_t n, double confidence) {
  std::size_t low = 0;
  std::size_t high = n / 2;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (coverage(n, middle) >= confidence) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Spreads each run of equal values evenly over one step of the clock, centred on the value.
void spread_ties(std::vector<double>& sorted, double resolution) {
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] - sorted[begin] < 0.5 * resolution) {
      ++end;
    }
    const double value = sorted[begin];
    const auto count = static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      sorted[i] = value + resolution * ((static_cast<double>(i - begin) + 0.5) / count - 0.5);
    }
    begin = end;
  }
  // Spread values may have passed values that are not whole steps away.
  std::ranges::sort(sorted);
}

}  // namespace

double Interval::relative_half_width() const noexcept {
  if (median == 0.0) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(high - median, median - low) / std::abs(median);
}

Interval median_interval(std::span<const double> samples, double confidence, double resolution) {
  if (samples.empty()) {
    throw std::invalid_argument("no samples");
  }
  if (!(confidence > 0.0) || !(confidence < 1.0)) {
    throw std::invalid_argument("confidence must lie between 0 and 1");
  }
  if (std::ranges::any_of(samples, [](double sample) { return std::isnan(sample); })) {
    throw std::invalid_argument("a sample is not a number");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  const std::size_t k = std::max<std::size_t>(outer_rank(n, confidence), 1);
  const double first = sorted[k - 1];
  const double last = sorted[n - k];
  if (resolution > 0.0) {
    spread_ties(sorted, resolution);
  }
  const double median = n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  if (last - first < 0.5 * resolution) {
    // Both ends are the same reading of the clock: the median lies anywhere within half a step of
    // it.
    return {median, first - 0.5 * resolution, last + 0.5 * resolution};
  }
  return {median, sorted[k - 1], sorted[n - k]};
}

double step_of(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  double step = 0.0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double apart = sorted[i] - sorted[i - 1];
    if (apart > 0.0 && (step == 0.0 || apart < step)) {
      step = apart;
    }
  }
  return step;
}

StoppingCriterion::StoppingCriterion(double precision, std::size_t max_samples, double confidence,
                                     std::size_t first_check)
    : precision_(precision),
      confidence_(confidence),
      max_samples_(max_samples),
      next_check_(first_check) {
  if (!(precision > 0.0)) {
    throw std::invalid_argument("precision must be above 0");
  }
  if (first_check == 0 || max_samples < first_check) {
    throw std::invalid_argument("the cap on samples lies below the first check");
  }
}

StoppingCriterion::Verdict StoppingCriterion::look(std::span<const double> samples,
                                                   double resolution) {
  if (samples.size() < next_check_ && samples.size() < max_samples_) {
    return Verdict::go_on;
  }
  const Interval interval = median_interval(samples, confidence_, resolution);
  // If both ends are equal, e.g. all samples are 0, further samples would not narrow the interval.
  if (interval.relative_half_width() <= precision_ || interval.low == interval.high) {
    return Verdict::converged;
  }
  if (samples.size() >= max_samples_) {
    return Verdict::capped;
  }
  postpone(2 * samples.size());
  return Verdict::go_on;
}

void StoppingCriterion::postpone(std::size_t samples) noexcept {
  next_check_ = std::min(std::max(next_check_, samples), max_samples_);
}

}  // namespace isthmus

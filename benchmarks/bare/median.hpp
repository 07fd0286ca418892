// The least that a bare loop needs: seconds, and a median.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median of what `sample` returns, again and again for so long and 25 times at least.
template <class Sample>
double median_over(double seconds, const Sample& sample) {
  std::vector<double> samples;
  for (const double begin = now(); now() - begin < seconds || samples.size() < 25;) {
    samples.push_back(sample());
  }
  return median(std::move(samples));
}

/// Seconds that one call takes.
template <class Call>
double timed(const Call& call) {
  const double before = now();
  call();
  return now() - before;
}

// Tests the whole procedure: series grow until the criterion ends them. The interval at that time
// must hold the true median in about 95 % of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <string>

#include "isthmus/stopping.hpp"

using isthmus::Interval;
using isthmus::median_interval;
using isthmus::StoppingCriterion;
using Verdict = isthmus::StoppingCriterion::Verdict;

namespace {

#ifdef SANITIZED
constexpr int trials = 800;
constexpr double luck = 0.025;  // three standard errors
#else
constexpr int trials = 4'000;
constexpr double luck = 0.0;  // the seed is fixed
#endif

using Random = std::mt19937_64;

struct Population {
  std::string name;
  double median;
  double precision;
  std::function<double(Random&)> draw;
  double step = 0;  ///< step of the clock that reads it
};

double normal(Random& random, double mean, double deviation) {
  return std::normal_distribution<double>(mean, deviation)(random);
}

double rounded(double value, double step) { return std::round(value / step) * step; }

/// A mixture of normal distributions around 1 and 1.5; `share` of the samples come from the first.
Population bimodal(const std::string& name, double share, double precision) {
  constexpr double second = 1.5;
  constexpr double deviation = 0.05;
  const auto below = [](double x, double mean) {
    return 0.5 * std::erfc((mean - x) / deviation / std::numbers::sqrt2);
  };
  double low = 0.5;
  double high = 2.0;
  while (high - low > 1e-12) {
    const double middle = 0.5 * (low + high);
    const bool under = share * below(middle, 1.0) + (1 - share) * below(middle, second) < 0.5;
    (under ? low : high) = middle;
  }
  return {name, low, precision, [share](Random& random) {
            const bool first = std::uniform_real_distribution<double>()(random) < share;
            return normal(random, first ? 1.0 : second, deviation);
          }};
}

Population quantised(const std::string& name, double median, double deviation, double step,
                     double precision) {
  return {name, median, precision,
          [=](Random& random) { return rounded(normal(random, median, deviation), step); }, step};
}

struct Outcome {
  double covered = 0;
  double converged = 0;
};

Outcome run(const Population& population, std::size_t most_samples) {
  Random random(20'240'229);
  int covered = 0;
  int converged = 0;
  for (int trial = 0; trial < trials; ++trial) {
    StoppingCriterion criterion(population.precision, most_samples);
    std::vector<double> samples;
    Verdict verdict = Verdict::go_on;
    while (verdict == Verdict::go_on) {
      samples.push_back(population.draw(random));
      verdict = criterion.look(samples, population.step);
    }
    const Interval interval = median_interval(samples, 0.95, population.step);
    covered += interval.low <= population.median && population.median <= interval.high ? 1 : 0;
    converged += verdict == Verdict::converged ? 1 : 0;
  }
  return {static_cast<double>(covered) / trials, static_cast<double>(converged) / trials};
}

}  // namespace

TEST_CASE("coverage: intervals that end a series hold the median in 93 to 97 %", "[coverage]") {
  const auto population = GENERATE(values<Population>(
      {{"normal, coarse aim", 1.0, 0.1, [](Random& r) { return normal(r, 1.0, 0.1); }},
       {"normal, fine aim", 1.0, 0.02, [](Random& r) { return normal(r, 1.0, 0.1); }},
       {"log-normal", 1.0, 0.05, [](Random& r) { return std::exp(normal(r, 0.0, 0.2)); }},
       {"log-normal, wide", 1.0, 0.1, [](Random& r) { return std::exp(normal(r, 0.0, 0.5)); }},
       {"exponential", std::log(2.0), 0.1,
        [](Random& r) { return std::exponential_distribution<double>()(r); }},
       {"exponential above a floor", 1.0 + 0.2 * std::log(2.0), 0.02,
        [](Random& r) { return 1.0 + 0.2 * std::exponential_distribution<double>()(r); }},
       bimodal("two modes, 70 to 30", 0.7, 0.02),
       bimodal("two modes, 55 to 45", 0.55, 0.02),
       quantised("normal read in steps of a fifth of its deviation", 1.003, 0.1, 0.02, 0.05)}));
  const Outcome outcome = run(population, 25'600);
  CAPTURE(population.name);
  CHECK(outcome.covered >= 0.93 - luck);
  CHECK(outcome.covered <= 0.97 + luck);
  CHECK(outcome.converged > 0.95);
}

TEST_CASE("coverage: a coarse clock fakes no certainty", "[coverage]") {
  // Steps in standard deviations, and the median's position within a step: middle, near an edge,
  // edge.
  const double step = GENERATE(1.0, 2.0, 5.0, 10.0);
  const double place = GENERATE(0.0, 0.3, 0.45, 0.5);
  constexpr double deviation = 0.02;
  const double width = step * deviation;
  const double median = rounded(1.0, width) + place * width;
  const Outcome outcome = run(quantised("", median, deviation, width, 0.05), 200);
  CAPTURE(step, place);
  CHECK(outcome.covered >= 0.93 - luck);
}

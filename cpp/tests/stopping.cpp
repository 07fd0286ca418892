#include "isthmus/stopping.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

using isthmus::Interval;
using isthmus::median_interval;
using isthmus::StoppingCriterion;
using Verdict = isthmus::StoppingCriterion::Verdict;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// 1, 2, ..., n in a mixed order: each value is its own rank.
std::vector<double> ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(n));
  return values;
}

}  // namespace

TEST_CASE("stopping: the interval lies between the tabulated ranks", "[stopping]") {
  struct Known {
    std::size_t n;
    double low;
    double high;
  };
  // Largest k with P(k <= Bin(n, 1/2) <= n - k) >= 95 %: tables of the sign test.
  const auto known = GENERATE(values<Known>({{6, 1, 6},
                                             {7, 1, 7},
                                             {8, 1, 8},
                                             {9, 2, 8},
                                             {10, 2, 9},
                                             {20, 6, 15},
                                             {25, 8, 18},
                                             {50, 18, 33},
                                             {100, 40, 61},
                                             {1000, 469, 532}}));
  const Interval interval = median_interval(ranks(known.n));
  CAPTURE(known.n);
  CHECK(interval.low == known.low);
  CHECK(interval.high == known.high);
  CHECK(interval.median == Approx((static_cast<double>(known.n) + 1.0) / 2.0));
}

TEST_CASE("stopping: below 6 samples the interval is the whole range", "[stopping]") {
  const std::size_t n = GENERATE(range(1, 6));
  const Interval interval = median_interval(ranks(n));
  CHECK(interval.low == 1.0);
  CHECK(interval.high == static_cast<double>(n));
  CHECK(interval.median == Approx((static_cast<double>(n) + 1.0) / 2.0));
}

TEST_CASE("stopping: another confidence moves the ranks", "[stopping]") {
  CHECK(median_interval(ranks(25), 0.99).low == 6.0);
  CHECK(median_interval(ranks(25), 0.5).low == 11.0);
  CHECK(median_interval(ranks(5), 0.9).low == 1.0);
}

TEST_CASE("stopping: the interval of many samples does not underflow", "[stopping]") {
  // The normal approximation, which is right within two ranks.
  constexpr std::size_t n = 25'600;
  const Interval interval = median_interval(ranks(n));
  CHECK(interval.low == Approx(12'800 - 0.98 * 160).margin(2));
  CHECK(interval.low + interval.high == static_cast<double>(n + 1));
}

TEST_CASE("stopping: one wild sample moves neither median nor interval", "[stopping]") {
  std::vector<double> samples = ranks(25);
  *std::ranges::max_element(samples) = infinity;
  const Interval interval = median_interval(samples);
  CHECK(interval.median == 13.0);
  CHECK(interval.high == 18.0);
}

TEST_CASE("stopping: ties are spread over the clock's step", "[stopping]") {
  SECTION("equal samples without a known step are taken as they are") {
    const Interval interval = median_interval(std::vector<double>(25, 3.0));
    CHECK(interval.low == 3.0);
    CHECK(interval.high == 3.0);
  }
  SECTION("equal samples are known to one step and no better") {
    const std::size_t n = GENERATE(1, 5, 6, 25, 1000);
    const Interval interval = median_interval(std::vector<double>(n, 3.0), 0.95, 0.2);
    CHECK(interval.median == Approx(3.0));
    CHECK(interval.low == Approx(2.9));
    CHECK(interval.high == Approx(3.1));
  }
  SECTION("two readings a step apart: the median lies where their shares put it") {
    std::vector<double> samples(75, 1.0);
    samples.insert(samples.end(), 25, 2.0);
    const Interval interval = median_interval(samples, 0.95, 1.0);
    CHECK(interval.median == Approx(0.5 + 50.0 / 75.0).margin(0.01));
    CHECK(interval.low == Approx(0.5));
    CHECK(interval.high == Approx(1.5));
  }
  SECTION("interval and median keep their order where values are no whole steps apart") {
    std::vector<double> samples(40, 1.0);
    samples.insert(samples.end(), 60, 1.6);
    const Interval interval = median_interval(samples, 0.95, 1.0);
    CHECK(interval.low < interval.median);
    CHECK(interval.median < interval.high);
  }
  SECTION("distinct samples stay where they are") {
    CHECK(median_interval(ranks(25), 0.95, 0.1).low == Approx(8.0));
  }
}

TEST_CASE("stopping: half-widths are relative to the median", "[stopping]") {
  CHECK(Interval{10, 9, 12}.relative_half_width() == Approx(0.2));
  CHECK(Interval{10, 7, 11}.relative_half_width() == Approx(0.3));
  CHECK(Interval{-10, -12, -9}.relative_half_width() == Approx(0.2));
  CHECK(Interval{0, 0, 0}.relative_half_width() == infinity);
}

TEST_CASE("stopping: invalid options are refused", "[stopping]") {
  const std::vector<double> samples = ranks(10);
  CHECK_THROWS_AS(median_interval({}), std::invalid_argument);
  for (const double confidence : {0.0, 1.0, -1.0, 2.0, not_a_number}) {
    CHECK_THROWS_AS(median_interval(samples, confidence), std::invalid_argument);
  }
  std::vector<double> spoilt = samples;
  spoilt[3] = not_a_number;
  CHECK_THROWS_AS(median_interval(spoilt), std::invalid_argument);
  for (const double precision : {0.0, -0.1, not_a_number}) {
    CHECK_THROWS_AS(StoppingCriterion(precision, 100), std::invalid_argument);
  }
  CHECK_THROWS_AS(StoppingCriterion(0.1, 24), std::invalid_argument);
  CHECK_THROWS_AS(StoppingCriterion(0.1, 100, 0.95, 0), std::invalid_argument);
}

TEST_CASE("stopping: looks at 25, 50, 100 ... samples only", "[stopping]") {
  StoppingCriterion criterion(0.001, 1'000);
  // The first sample already gives the exact median, but the series looks only at these counts.
  CHECK(criterion.look(std::vector<double>(24, 1.0)) == Verdict::go_on);
  CHECK(criterion.next_check() == 25);
  CHECK(criterion.look(ranks(25)) == Verdict::go_on);
  CHECK(criterion.next_check() == 50);
  CHECK(criterion.look(std::vector<double>(49, 1.0)) == Verdict::go_on);
  CHECK(criterion.look(ranks(50)) == Verdict::go_on);
  CHECK(criterion.next_check() == 100);
  CHECK(criterion.look(std::vector<double>(100, 1.0)) == Verdict::converged);
}

TEST_CASE("stopping: the cap ends a series wherever it lies", "[stopping]") {
  StoppingCriterion criterion(0.001, 60);
  CHECK(criterion.look(ranks(25)) == Verdict::go_on);
  CHECK(criterion.look(ranks(50)) == Verdict::go_on);
  CHECK(criterion.next_check() == 60);
  CHECK(criterion.look(ranks(60)) == Verdict::capped);
}

TEST_CASE("stopping: the first look can be put off, later ones double from there", "[stopping]") {
  StoppingCriterion criterion(0.001, 1'000);
  criterion.postpone(10);
  CHECK(criterion.next_check() == 25);
  criterion.postpone(130);
  CHECK(criterion.look(std::vector<double>(129, 1.0)) == Verdict::go_on);
  CHECK(criterion.next_check() == 130);
  CHECK(criterion.look(ranks(130)) == Verdict::go_on);
  CHECK(criterion.next_check() == 260);
  criterion.postpone(5'000);
  CHECK(criterion.next_check() == 1'000);
}

TEST_CASE("step_of: the smallest difference between samples that differ", "[stopping]") {
  CHECK(isthmus::step_of(std::vector<double>{3, 1, 1, 1.5, 3}) == Approx(0.5));
  CHECK(isthmus::step_of(std::vector<double>{2, 2}) == 0.0);
  CHECK(isthmus::step_of({}) == 0.0);
}

#include "isthmus/progress.hpp"

#include <catch2/catch.hpp>

namespace {

using isthmus::Progress;

constexpr std::size_t looked_at = 25;
constexpr Progress::Visit visit = {
    .most_seconds = 60, .setup_s = 0, .sampling_s = 1, .samples = looked_at, .resolution_s = 0};

/// A series whose samples take 1 s by the host's clock; by the device's, `apart` less or more.
Progress steady_series(double apart) {
  Progress progress({.precision = 0.05, .most_seconds = 60});
  progress.begin_visit(1);
  for (std::size_t i = 0; i < looked_at; ++i) {
    progress.add(0, 1.0);
    progress.add_of_device(0, i % 2 == 0 ? 1.0 - apart : 1.0 + apart);
  }
  return progress;
}

}  // namespace

TEST_CASE("progress: a series ends when all its clocks are known well enough", "[progress]") {
  Progress precise = steady_series(0.01);
  CHECK_FALSE(precise.goes_on(visit));
  CHECK(precise.state() == Progress::State::precision);

  Progress imprecise = steady_series(0.2);
  imprecise.goes_on(visit);
  CHECK(imprecise.state() == Progress::State::open);
}

TEST_CASE("progress: a device without a clock holds nothing up", "[progress]") {
  Progress progress({.precision = 0.05, .most_seconds = 60});
  progress.begin_visit(2);
  for (std::size_t i = 0; i < looked_at; ++i) {
    progress.add(0, 1.0);
    progress.add(1, 2.0);
  }
  CHECK_FALSE(progress.goes_on(visit));
  CHECK(progress.state() == Progress::State::precision);
}

TEST_CASE("progress: a device's clock that always says 0 holds nothing up", "[progress]") {
  Progress progress({.precision = 0.05, .most_seconds = 60});
  progress.begin_visit(1);
  for (std::size_t i = 0; i < looked_at; ++i) {
    progress.add(0, 1.0);
    progress.add_of_device(0, 0.0);
  }
  CHECK_FALSE(progress.goes_on(visit));
  CHECK(progress.state() == Progress::State::precision);
}

TEST_CASE("progress: samples of a lost visit count on no clock", "[progress]") {
  Progress progress = steady_series(0.0);
  progress.drop_visit(1.0);
  progress.begin_visit(1);
  for (std::size_t i = 0; i < looked_at; ++i) {
    progress.add(0, 1.0);
    progress.add_of_device(0, i % 2 == 0 ? 0.8 : 1.2);
  }
  progress.goes_on(visit);
  CHECK(progress.state() == Progress::State::open);
}

TEST_CASE("progress: a coarse clock of a device fakes no certainty", "[progress]") {
  Progress progress({.precision = 0.05, .most_seconds = 60});
  progress.begin_visit(1);
  for (std::size_t i = 0; i < looked_at; ++i) {
    progress.add(0, 1.0);
    progress.add_of_device(0, i == 0 ? 2.0 : 1.0);  // the difference is one step of the clock
  }
  progress.goes_on(visit);
  CHECK(progress.state() == Progress::State::open);
}

TEST_CASE("progress: a visit continues to the next look only if it is near", "[progress]") {
  Progress progress({.precision = 1e-6, .most_seconds = 1000});
  double sampling_s = 0;
  const auto samples_of_a_visit = [&](double each_s) {
    progress.begin_visit(1);
    sampling_s = 0;
    std::size_t samples = 0;
    bool goes_on = true;
    while (goes_on) {
      ++samples;
      sampling_s += each_s;
      progress.add(0, samples % 2 == 0 ? 1.0 : 2.0);
      goes_on = progress.goes_on({.most_seconds = 100,
                                  .setup_s = 0.1,
                                  .sampling_s = sampling_s,
                                  .samples = samples,
                                  .resolution_s = 0});
    }
    progress.keep_visit(sampling_s);
    return samples;
  };
  CHECK(samples_of_a_visit(1.0) == 25);  // the set-up takes little in comparison
  CHECK(samples_of_a_visit(1.0) == 25);  // 50 samples in all
  // 100, 200 and 400 samples in all; another 400 would take too long
  CHECK(samples_of_a_visit(0.001) == 350);
}

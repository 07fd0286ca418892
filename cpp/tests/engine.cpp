#include "isthmus/engine.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "null_device.hpp"

using isthmus::Block;
using isthmus::HostClock;
using isthmus::Series;
using isthmus::SeriesOptions;
using isthmus::Ticks;

namespace {

constexpr double never = 1e-12;  ///< a precision that no series reaches
constexpr double ages = 100.0;   ///< more seconds than any series here takes

double median_s(std::vector<Ticks> ticks) {
  const auto middle = ticks.begin() + static_cast<std::ptrdiff_t>(ticks.size() / 2);
  std::nth_element(ticks.begin(), middle, ticks.end());
  return HostClock::instance().seconds(*middle);
}

/// Visits until the series ends. An interruption can end a visit early, so no check here may depend
/// on the number of visits.
std::vector<Block> visits(Series& series) {
  std::vector<Block> blocks;
  while (series.state() == "open") {
    blocks.push_back(series.measure(ages));
  }
  return blocks;
}

std::size_t samples(const std::vector<Block>& blocks) {
  std::size_t total = 0;
  for (const Block& block : blocks) {
    total += block.parts.front().ticks.size();
  }
  return total;
}

SeriesOptions quick(double precision) {
  SeriesOptions options;
  options.precision = precision;
  options.least_block_s = 0.005;
  return options;
}

}  // namespace

TEST_CASE("engine: a series ends when its median is known", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  Series series = device.series("write", quick(0.5));
  CHECK(series.state() == "open");
  const std::vector<Block> blocks = visits(series);
  CHECK(blocks.back().state == "precision");
  CHECK(series.state() == "precision");
  CHECK(samples(blocks) >= 25);
}

TEST_CASE("engine: a series ends at its cap on samples", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  SeriesOptions options = quick(never);
  options.most_samples = 60;
  options.least_block_s = 1.0;  // reached only after the cap
  Series series = device.series("write", options);
  const std::vector<Block> blocks = visits(series);
  CHECK(blocks.back().state == "samples");
  CHECK(samples(blocks) == 60);
}

TEST_CASE("engine: a series ends at its cap on time, over several visits", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  SeriesOptions options = quick(never);
  options.most_seconds = 0.2;
  options.most_samples = 100'000'000;
  Series series = device.series("write", options);
  int visits = 0;
  double spent = 0;
  while (series.state() == "open" && visits < 1'000) {
    const Block block = series.measure(0.05);
    spent += block.block_s;
    ++visits;
  }
  CHECK(series.state() == "time");
  CHECK(spent >= 0.2);
}

TEST_CASE("engine: a visit ends near the time it is given", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  SeriesOptions options = quick(never);
  options.most_samples = 100'000'000;
  Series series = device.series("write", options);
  const Block block = series.measure(0.05);
  CHECK(block.state == "open");
  CHECK(block.block_s < 10.0);
}

TEST_CASE("engine: a visit lasts at least least_block_s, after any earlier samples", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  SeriesOptions options = quick(0.5);
  options.least_block_s = 0.06;
  const Block block = device.series("write", options).measure(ages);
  CHECK(block.block_s - block.setup_s >= options.least_block_s);
}

TEST_CASE("engine: a finished series takes no more samples", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  Series series = device.series("write", quick(0.5));
  CHECK(visits(series).back().state == "precision");
  CHECK(series.measure(ages).parts.front().ticks.empty());
}

TEST_CASE("engine: the first repetition of all is kept apart as cold", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  SeriesOptions options = quick(never);
  Series series = device.series("rw", options);
  const Block first = series.measure(0.02);
  REQUIRE(first.parts.size() == 2);
  for (const auto& part : first.parts) {
    CHECK(part.cold.value_or(0) > 0);
  }
  const Block second = series.measure(0.02);
  for (const auto& part : second.parts) {
    CHECK_FALSE(part.cold.has_value());
  }
}

TEST_CASE("engine: short operations are timed in batches", "[engine]") {
  const auto device = NullDevice::with({{"cost", "20ns"}});
  const Block block = device.series("write", quick(0.2)).measure(ages);
  CHECK(block.batch > 10);
  CHECK(block.intervals == 1);
  // It took 10 us at calibration; the processor may have become faster since then.
  CHECK(median_s(block.parts.front().ticks) >= 2e-6);
}

TEST_CASE("engine: long operations are timed one by one", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  const Block block = device.series("write", quick(0.2)).measure(ages);
  CHECK(block.batch == 1);
  CHECK(block.intervals == 1);
}

TEST_CASE("engine: a batch is calibrated once in a series", "[engine]") {
  const auto device = NullDevice::with({{"cost", "20ns"}});
  Series series = device.series("write", quick(never));
  const Block first = series.measure(0.01);
  const Block second = series.measure(0.01);
  CHECK(first.batch == second.batch);
}

TEST_CASE("engine: the parts of a short pair are timed one by one within a batch", "[engine]") {
  const auto device = NullDevice::with({{"cost", "20ns"}});
  const Block block = device.series("rw", quick(0.5)).measure(ages);
  REQUIRE(block.parts.size() == 2);
  CHECK(block.batch > 10);
  CHECK(block.intervals == block.batch);
  CHECK(block.parts[0].ticks.size() == block.parts[1].ticks.size());
  for (const auto& part : block.parts) {
    CHECK(part.empty_ticks.size() == part.ticks.size());
    CHECK(median_s(part.empty_ticks) > 0.0);
    CHECK(median_s(part.empty_ticks) < median_s(part.ticks));
  }
}

TEST_CASE("engine: a long pair needs no batch", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}});
  const Block block = device.series("rw", quick(0.5)).measure(ages);
  CHECK(block.batch == 1);
  CHECK(block.intervals == 1);
  CHECK(block.parts.front().empty_ticks.empty());
}

TEST_CASE("engine: a block reports moved bytes and times", "[engine]") {
  const auto device = NullDevice::with({{"cost", "5us"}, {"move", "correct"}});
  const Block block = device.series("rw", quick(0.5), 4097).measure(ages);
  for (const auto& part : block.parts) {
    CHECK(part.moved_bytes == 4097);
    CHECK(part.device_seconds.empty());
  }
  CHECK(block.setup_s > 0.0);
  CHECK(block.block_s > block.setup_s);
  CHECK(block.probe.steal_s >= 0.0);
  CHECK(block.probe.minor_faults >= 0);
}

TEST_CASE("engine: a backend's failure is passed on at any repetition", "[engine]") {
  // In the cold repetition, during calibration, and among the samples.
  const std::string call = GENERATE("1", "4", "30");
  const auto device = NullDevice::with({{"cost", "5us"}, {"fail", call}});
  SeriesOptions options = quick(never);
  options.most_samples = 60;
  options.least_block_s = 1.0;  // reached only after the cap
  Series series = device.series("write", options);
  CHECK_THROWS_AS(series.measure(ages), isthmus::BackendError);
  CHECK(series.state() == "open");
  // The lost block does not count: the series continues as if it had not been visited.
  const std::vector<Block> blocks = visits(series);
  CHECK(blocks.back().state == "samples");
  CHECK(samples(blocks) == 60);
}

TEST_CASE("engine: a failure during calibration leaves no half-made batch", "[engine]") {
  const auto device = NullDevice::with({{"cost", "20ns"}, {"fail", "8"}});
  Series series = device.series("write", quick(0.2));
  CHECK_THROWS_AS(series.measure(ages), isthmus::BackendError);
  CHECK(series.measure(ages).batch > 10);
}

TEST_CASE("engine: an unknown operation is the user's mistake", "[engine]") {
  const auto device = NullDevice::with({});
  CHECK_THROWS_AS(device.series("teleport", {}).measure(ages), isthmus::UsageError);
}

TEST_CASE("engine: invalid options are refused", "[engine]") {
  const auto device = NullDevice::with({});
  SeriesOptions options;
  options.precision = 0;
  CHECK_THROWS_AS(device.series("write", options).measure(ages), std::invalid_argument);
}

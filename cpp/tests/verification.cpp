// Every fault of the null backend must be found by the check that is meant for it.
#include <catch2/catch.hpp>

#include "null_device.hpp"

using Catch::Matchers::Contains;
using isthmus::Block;
using isthmus::SeriesOptions;
using isthmus::Verified;

namespace {

/// Visits until the fault contains `wanted` or the series ends: an interruption can end a visit
/// early.
Block measure(const isthmus::Options& options, const std::string& operation, std::size_t bytes,
              const std::string& wanted = "did not arrive") {
  SeriesOptions quick;
  quick.precision = 0.5;
  quick.least_block_s = 0.002;
  const auto device = NullDevice::with(options);
  isthmus::Series series = device.series(operation, quick, bytes);
  Block block;
  do {
    block = series.measure(100.0);
  } while (series.state() == "open" && block.fault.find(wanted) == std::string::npos);
  return block;
}

}  // namespace

TEST_CASE("verification: nothing to verify where nothing moves", "[verification]") {
  const Block block = measure({{"move", "none"}}, "write", 4096);
  CHECK(block.verified == Verified::na);
  CHECK(block.fault.empty());
}

TEST_CASE("verification: correct transfers pass", "[verification]") {
  const std::size_t bytes = GENERATE(1, 2, 64, 4096, 4097, 100'000);
  const std::string operation = GENERATE("write", "rw");
  const std::string cost = GENERATE("1ns", "5us");  // with a batch, and without
  const Block block = measure({{"move", "correct"}, {"cost", cost}}, operation, bytes);
  CAPTURE(bytes, operation, cost, block.fault);
  CHECK(block.verified == Verified::yes);
  CHECK(block.fault.empty());
}

TEST_CASE("verification: constant faults are seen at every size", "[verification]") {
  const std::string move = GENERATE("drop", "duplicate", "reorder", "nothing", "early");
  const std::size_t bytes = GENERATE(2, 64, 4096, 100'000);
  const std::string operation = GENERATE("write", "rw");
  const std::string cost = GENERATE("1ns", "5us");
  const Block block = measure({{"move", move}, {"cost", cost}}, operation, bytes);
  CAPTURE(move, bytes, operation, cost);
  CHECK(block.verified == Verified::no);
  CHECK_THAT(block.fault, Contains("did not arrive"));
}

TEST_CASE("verification: one byte that never arrives is seen", "[verification]") {
  const std::string move = GENERATE("drop", "nothing", "early");
  CHECK(measure({{"move", move}}, "write", 1).verified == Verified::no);
}

TEST_CASE("verification: the full check finds faults from the start", "[verification]") {
  const std::string move = GENERATE("drop", "duplicate", "reorder", "nothing", "early");
  const Block block = measure({{"move", move}, {"cost", "5us"}}, "write", 100'000);
  CAPTURE(move);
  CHECK_THAT(block.fault, Contains("first"));
}

TEST_CASE("verification: stamps find occasional faults", "[verification]") {
  // The first repetition is right, so only a stamp among the samples can find the fault.
  const std::string move = GENERATE("nothing", "early");
  const std::size_t bytes = GENERATE(1, 2, 64, 4096, 100'000);
  const std::string operation = GENERATE("write", "rw");
  const Block block =
      measure({{"move", move}, {"every", "3"}, {"cost", "5us"}}, operation, bytes, "timed");
  CAPTURE(move, bytes, operation, block.batch);
  CHECK(block.verified == Verified::no);
  CHECK_THAT(block.fault, Contains("timed"));
}

TEST_CASE("verification: the last repetition is checked in full", "[verification]") {
  SeriesOptions options;
  options.precision = 1e-12;
  options.most_samples = 25;
  // One cold repetition, 5 for the batch, 25 samples: repetition 32 is the last, unless an
  // interruption made the calibration shorter.
  const isthmus::Options faulty = {{"move", "drop"}, {"every", "32"}, {"cost", "5us"}};
  bool seen = false;
  for (int attempt = 0; attempt < 20 && !seen; ++attempt) {
    const auto device = NullDevice::with(faulty);
    const Block block = device.series("write", options, 100'000).measure(100.0);
    seen = block.fault.find("last") != std::string::npos;
  }
  CHECK(seen);
}

#include "isthmus/card/event.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <utility>
#include <vector>

#include "isthmus/card/time.hpp"

namespace isthmus::card {
namespace {

/// An actor that notes its events and their times.
class Diary final : public Actor {
 public:
  explicit Diary(Simulator& simulator) : simulator_(&simulator) {}
  void handle(std::uint64_t payload) override { seen.emplace_back(simulator_->now(), payload); }
  std::vector<std::pair<Time, std::uint64_t>> seen;

 private:
  Simulator* simulator_;
};

TEST_CASE("events happen by time, and those of one time in the order of scheduling") {
  Simulator simulator;
  Diary diary(simulator);
  Random random(7);
  std::vector<std::pair<Time, std::uint64_t>> expected;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto time = static_cast<Time>(random() % 50);
    expected.emplace_back(time, i);
    simulator.schedule(time, diary, i);
  }
  std::ranges::sort(expected);  // events of equal times come in the order of their numbers
  simulator.run();
  CHECK(diary.seen == expected);
  CHECK(simulator.events() == 1000);
}

TEST_CASE("a pending event's state does not depend on when it is") {
  Simulator simulator;
  Diary diary(simulator);
  const auto pending = [&](Time begin) {
    simulator.reset();
    simulator.advance(begin);
    simulator.schedule(begin + 30, diary, 1);
    simulator.schedule(begin + 20, diary, 2);
    State state;
    simulator.save(state);
    return state;
  };
  CHECK(pending(0) == pending(123'456));
  CHECK(pending(0) == State{2, 20, 0, 2, 30, 0, 1});
}

TEST_CASE("paces add up without drift") {
  const Pace third(1e6 / 3);
  // In steps of 2^-20 fs, each of 3e9 units is wrong by at most half a step.
  CHECK(std::abs(third.of(3'000'000'000) - 1'000'000'000'000'000) <= 3'000'000'000 / (2 << 20) + 1);
  CHECK(Pace::of_clock(250).of(5) == 20 * nanosecond);
  CHECK(Pace::of_rate(1e9).of(7) == 7 * nanosecond);
  CHECK(from_nanoseconds(0.0000005) == 1);
}

TEST_CASE("random numbers are splitmix64's") {
  Random random(1234567);
  CHECK(random() == 6457827717110365317U);
  CHECK(random() == 3203168211198807973U);
}

}  // namespace
}  // namespace isthmus::card

#include "isthmus/card/process/run_order.hpp"

#include <catch2/catch.hpp>

using namespace isthmus::card::process;

namespace {

RunOrigin run(std::uint64_t number, std::size_t unit, bool connected = false) {
  return {.number = number, .unit = unit, .connected = connected};
}

}  // namespace

TEST_CASE("Runs are in order if one was started after the other's end", "[card][process]") {
  RunOrder order;
  order.begin();
  order.begin();
  SECTION("not while both go on") {
    CHECK_FALSE(order.has(run(1, 0), run(2, 1)));
    CHECK_FALSE(order.has(run(2, 1), run(1, 0)));
  }
  SECTION("not once both have ended") {
    order.end(2);
    order.end(1);
    CHECK_FALSE(order.has(run(1, 0), run(2, 1)));
    CHECK_FALSE(order.is_under_way(1));
  }
  SECTION("a later run is behind what had ended, alone") {
    order.end(1);
    order.begin();
    CHECK(order.has(run(1, 0), run(3, 2)));
    CHECK_FALSE(order.has(run(2, 1), run(3, 2)));
  }
  SECTION("on one unit") { CHECK(order.has(run(1, 0), run(2, 0))); }
  SECTION("by streams") {
    CHECK(order.has(run(1, 0, true), run(2, 1, true)));
    CHECK_FALSE(order.has(run(1, 0, true), run(2, 1)));
  }
  SECTION("of a run without a number nothing is known") { CHECK(order.has(run(0, 0), run(2, 1))); }
}

TEST_CASE("A run is past once nothing goes on that was started before its end", "[card][process]") {
  RunOrder order;
  order.begin();
  order.begin();
  CHECK_FALSE(order.is_past(1));
  order.end(1);
  CHECK(order.is_under_way(2));
  CHECK_FALSE(order.is_past(1));
  order.end(2);
  CHECK(order.is_past(1));
}

TEST_CASE("Ends of many runs are forgotten, and later runs are behind them", "[card][process]") {
  constexpr std::uint64_t many = 10'000;
  RunOrder order;
  for (std::uint64_t number = 1; number <= many; ++number) {
    order.begin();
    order.end(number);
  }
  order.begin();
  CHECK(order.has(run(1, 0), run(many + 1, 1)));
  CHECK(order.has(run(many, 0), run(many + 1, 1)));
  CHECK(order.is_past(many));
}

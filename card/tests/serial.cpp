#include "isthmus/card/serial.hpp"

#include <catch2/catch.hpp>

#include "u250.hpp"

namespace isthmus::card {
namespace {

TEST_CASE("a message takes latency and whole cycles on all channels") {
  const SerialParameters parameters = u250_with().serial.value();
  SerialLink alone(parameters, 1);
  // Two channels of 32 B at 156.25 MHz: 64 B every 6.4 ns, stretched by 1.05 %.
  const Time cycle = 6'467'200;
  CHECK(alone.send(0, 0, 1) == from_nanoseconds(610) + cycle);
  CHECK(alone.send(0, 1, 64) == from_nanoseconds(610) + cycle);
  CHECK(alone.send(0, 1, 65) == from_nanoseconds(610) + 3 * cycle);  // behind the one before
  SerialLink boards(parameters, 8);
  CHECK(boards.exchange(0, 4096) == from_nanoseconds(610 + 42) + 64 * cycle);
}

}  // namespace
}  // namespace isthmus::card

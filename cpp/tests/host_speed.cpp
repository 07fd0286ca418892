#include "isthmus/host_speed.hpp"

#include <catch2/catch.hpp>

#include "isthmus/clock.hpp"

namespace {

using isthmus::HostClock;
using isthmus::HostReferences;
using isthmus::HostSpeed;
using isthmus::Ticks;

}  // namespace

TEST_CASE("host_speed: a reading takes at least the time of what it says", "[host_speed]") {
  HostReferences references;
  for (int reading = 0; reading < 3; ++reading) {
    const Ticks begin = HostClock::raw_nanoseconds();
    const HostSpeed speed = references.read();
    const double took_s = static_cast<double>(HostClock::raw_nanoseconds() - begin) * 1e-9;
    CHECK(speed.system_call_s > 0);
    CHECK(speed.copy_s > 0);
    CHECK(speed.arithmetic_s > 0);
    // At least half of the repetitions of each take the median or longer.
    CHECK(50 * speed.system_call_s + 2 * speed.copy_s + 11 * speed.arithmetic_s < took_s);
  }
}

TEST_CASE("host_speed: nothing of the work is optimised away", "[host_speed]") {
  HostReferences references;
  const HostSpeed speed = references.read();
  // No processor does a dependent multiplication and addition at 20 GHz, nor copies at 10 TB/s, nor
  // enters a kernel in a nanosecond.
  CHECK(speed.arithmetic_s > HostReferences::arithmetic_steps * 2 / 20e9);
  CHECK(speed.copy_s > HostReferences::copy_bytes / 10e12);
  CHECK(speed.system_call_s > 1e-9);
}

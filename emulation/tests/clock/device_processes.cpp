#include "device_processes.hpp"

#include <catch2/catch.hpp>

namespace isthmus::card::clock {

TEST_CASE("A process without a descriptor takes the place of no other", "[processes]") {
  static DeviceProcesses processes;
  const int first = processes.enter(101, 7);
  REQUIRE(first >= 0);
  CHECK(processes.enter(202, -1) == DeviceProcesses::unwatched);
  CHECK(processes.descriptor(first) == 7);
  CHECK(processes.remove(first, 8) == 0);
  CHECK(processes.remove(first, 7) == 101);
  CHECK(processes.remove(first, 7) == 0);
  CHECK(processes.enter(303, 9) == first);
  CHECK(processes.forget(first) == 9);
}

TEST_CASE("There are as many places as cards", "[processes]") {
  static DeviceProcesses processes;
  for (std::size_t place = 0; place < DeviceProcesses::size(); ++place) {
    CHECK(processes.enter(100, 50 + static_cast<int>(place)) == static_cast<int>(place));
  }
  CHECK(processes.enter(100, 49) == DeviceProcesses::unwatched);
}

}  // namespace isthmus::card::clock

#include "isthmus/host_speed.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <new>
#include <vector>

#include "isthmus/clock.hpp"

namespace {

using isthmus::HostClock;
using isthmus::HostReferences;
using isthmus::HostSpeed;
using isthmus::Ticks;

}  // namespace

TEST_CASE("host_speed: a reading takes at least the reported time", "[host_speed]") {
  HostReferences references;
  for (int reading = 0; reading < 3; ++reading) {
    const Ticks begin = HostClock::raw_nanoseconds();
    const HostSpeed speed = references.read();
    const double took_s = static_cast<double>(HostClock::raw_nanoseconds() - begin) * 1e-9;
    CHECK(speed.system_call_s > 0);
    CHECK(speed.copy_s > 0);
    CHECK(speed.arithmetic_s > 0);
    // At least half of the repetitions take the median or longer.
    CHECK(50 * speed.system_call_s + 2 * speed.copy_s + 11 * speed.arithmetic_s < took_s);
  }
}

TEST_CASE("host_speed: the compiler removes none of the work", "[host_speed]") {
  HostReferences references;
  const HostSpeed speed = references.read();
  // No processor does dependent multiply-adds at 20 GHz, copies at 10 TB/s, or enters a kernel in a
  // nanosecond.
  CHECK(speed.arithmetic_s > HostReferences::arithmetic_steps * 2 / 20e9);
  CHECK(speed.copy_s > HostReferences::copy_bytes / 10e12);
  CHECK(speed.system_call_s > 1e-9);
}

TEST_CASE("host_speed: processes can map the same memory", "[host_speed]") {
  const int file = memfd_create("test", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  HostReferences first(file);
  HostReferences second(file);
  CHECK(second.read().copy_s > 0);
  CHECK(first.read().copy_s > 0);
  // The file holds both buffers of both processes, with the copied data.
  constexpr std::size_t bytes = 2 * HostReferences::copy_bytes;
  CHECK(lseek(file, 0, SEEK_END) == static_cast<off_t>(bytes));
  std::vector<char> all(bytes);
  CHECK(pread(file, all.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  CHECK(std::ranges::all_of(all, [](char value) { return value == 1; }));
  close(file);
}

TEST_CASE("host_speed: an invalid file gives no memory", "[host_speed]") {
  CHECK_THROWS_AS(HostReferences(1 << 20), std::bad_alloc);
}

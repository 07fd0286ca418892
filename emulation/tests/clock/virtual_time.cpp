#include "virtual_time.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <ctime>
#include <thread>
#include <vector>

namespace isthmus::card::clock {
namespace {

constexpr Nanoseconds epoch = 1'000'000'000'000;

/// Real time as a test sets it; the wall clock is a fixed epoch ahead, and jitters where asked.
Nanoseconds real = 0;
Nanoseconds jitter = 0;

Nanoseconds read(clockid_t clock) {
  if (clock == CLOCK_MONOTONIC) {
    return real;
  }
  return real + epoch + jitter;
}

Nanoseconds read_system(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

VirtualTime started() {
  real = 1000;
  jitter = 0;
  return VirtualTime(read);
}

}  // namespace

TEST_CASE("Between calls time runs at real speed", "[virtual_time]") {
  VirtualTime time = started();
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1000);
  real += 500;
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1500);
  CHECK(time.now(CLOCK_REALTIME, false) == epoch + 1500);
}

TEST_CASE("A call takes the time that it is said to take, not the time that passed",
          "[virtual_time]") {
  const Nanoseconds took = GENERATE(0, 10, 5000);
  VirtualTime time = started();
  REQUIRE(time.enter() == 1000);
  real += 300;
  CHECK(time.now(CLOCK_MONOTONIC, true) == 1000);
  CHECK(time.now(CLOCK_REALTIME, true) == epoch + 1000);
  time.leave(1000 + took);
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1000 + took);
  real += 7;
  CHECK(time.now(CLOCK_REALTIME, false) == epoch + 1007 + took);
}

TEST_CASE("For others time runs on during a call, and is not undone", "[virtual_time]") {
  VirtualTime time = started();
  time.enter();
  real += 300;
  CHECK(time.peek() == 1000);  // a look of one who waits
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1300);
  CHECK(time.now(CLOCK_MONOTONIC, true) == 1300);
  SECTION("a shorter call ends when it was seen to last still") {
    time.leave(1100);
    CHECK(time.now(CLOCK_MONOTONIC, false) == 1300);
  }
  SECTION("a longer call ends in its own time") {
    time.leave(1900);
    CHECK(time.now(CLOCK_MONOTONIC, false) == 1900);
  }
}

TEST_CASE("Calls into two cards at a time overlap", "[virtual_time]") {
  VirtualTime time = started();
  const Nanoseconds first = time.enter();
  real += 20;
  const Nanoseconds second = time.enter();
  CHECK(second == first + 20);
  real += 500;
  time.leave(second + 100);
  time.leave(first + 100);
  CHECK(time.now(CLOCK_MONOTONIC, false) == second + 100);
}

TEST_CASE("Two clocks that cannot be read at once never go back", "[virtual_time]") {
  VirtualTime time = started();
  time.enter();
  jitter = 90;
  const Nanoseconds before = time.now(CLOCK_REALTIME, true);
  jitter = 0;
  CHECK(time.now(CLOCK_REALTIME, true) >= before);
  time.leave(1000);
  CHECK(time.now(CLOCK_REALTIME, false) >= before);
}

TEST_CASE("After a fork in a call time runs again", "[virtual_time]") {
  VirtualTime time = started();
  time.enter();
  real += 100;
  time.forked();
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1000);
  real += 100;
  CHECK(time.now(CLOCK_MONOTONIC, false) == 1100);
}

TEST_CASE("No thread sees time go back, nor what another has seen", "[virtual_time]") {
  VirtualTime time(read_system);
  std::atomic<bool> over = false;
  std::atomic<Nanoseconds> latest = 0;
  std::atomic<int> steps_back = 0;
  const auto look = [&](clockid_t clock, bool shared) {
    Nanoseconds own = 0;
    while (!over) {
      const Nanoseconds floor = shared ? std::max(own, latest.load()) : own;
      own = time.now(clock, false);
      steps_back += own < floor ? 1 : 0;
      Nanoseconds seen = latest;
      while (shared && seen < own && !latest.compare_exchange_weak(seen, own)) {
      }
    }
  };
  const auto call = [&](Nanoseconds duration) {
    for (int count = 0; count < 20'000; ++count) {
      const Nanoseconds began = time.enter();
      steps_back += began < 0 ? 1 : 0;
      time.leave(began + duration);
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(look, CLOCK_MONOTONIC, true);
  readers.emplace_back(look, CLOCK_MONOTONIC, true);
  readers.emplace_back(look, CLOCK_REALTIME, false);
  std::thread quick(call, 10);
  std::thread slow(call, 20'000);
  quick.join();
  slow.join();
  over = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK(steps_back == 0);
}

}  // namespace isthmus::card::clock

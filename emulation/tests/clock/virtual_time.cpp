#include "virtual_time.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace isthmus::card::clock {
namespace {

constexpr Nanoseconds epoch = 1'000'000;

/// Threads as a test wants them, by numbers from 1.
struct Fake {
  std::atomic<Nanoseconds> used = 0;
  std::atomic<bool> runs = true;
};
std::array<Fake, 8> fakes;
thread_local pid_t number = 1;
/// Threads that asked for their own processor time.
std::atomic<int> asked = 0;
/// Called when a thread asks whether another thread runs: it holds the lock of the time.
std::function<void()> while_locked;

constexpr System fake_system = {.processor_time =
                                    [](pid_t id) {
                                      asked += id == number ? 1 : 0;
                                      return fakes.at(id).used.load();
                                    },
                                .runs =
                                    [](pid_t id) {
                                      if (while_locked) {
                                        while_locked();
                                      }
                                      return fakes.at(id).runs.load();
                                    },
                                .waits_outside = [](pid_t) { return false; },
                                .this_thread = [] { return number; }};

/// Time with this thread in it, number 1.
struct Bench {
  VirtualTime time{fake_system};

  explicit Bench(Nanoseconds free = 0) {
    for (Fake& fake : fakes) {
      fake.used = 0;
      fake.runs = true;
    }
    time.add(Role::program, 0);
    time.start(epoch, free);
  }
  ~Bench() { time.remove(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Does something as thread `id`, which is there only meanwhile unless it `stays`.
  void as(pid_t id, const std::function<void()>& action, bool stays = false) {
    std::thread([&] {
      number = id;
      time.add(Role::program, time.now());
      action();
      if (!stays) {
        time.remove();
      }
    }).join();
  }
};

}  // namespace

TEST_CASE("Computing advances time by the processor time that it takes", "[virtual_time]") {
  Bench bench;
  CHECK(bench.time.now() == epoch);
  fakes[1].used = 500;
  CHECK(bench.time.now() == epoch + 500);
  fakes[2].used = 70;  // another's
  CHECK(bench.time.now() == epoch + 500);
  bench.time.enter(Doing::in_call);
  fakes[1].used = 800;  // in the call
  bench.time.leave(epoch + 1000);
  CHECK(VirtualTime::take_computed() == 500);
  CHECK(VirtualTime::take_computed() == 0);
}

TEST_CASE("A call takes the time that it is said to take, whatever it computes", "[virtual_time]") {
  const Nanoseconds took = GENERATE(0, 10, 5000);
  Bench bench;
  fakes[1].used = 20;
  CHECK(bench.time.enter(Doing::in_call) == epoch + 20);
  fakes[1].used = 320;
  CHECK(bench.time.now() == epoch + 20);
  bench.time.leave(epoch + 20 + took);
  CHECK(bench.time.now() == epoch + 20 + took);
  fakes[1].used = 327;
  CHECK(bench.time.now() == epoch + 27 + took);
}

TEST_CASE("What does not count is computed in no time", "[virtual_time]") {
  Bench bench;
  fakes[1].used = 20;
  bench.time.set_computing_counts(false);
  fakes[1].used = 320;
  CHECK(bench.time.now() == epoch + 20);
  bench.time.raise(epoch + 50);  // what it waited for
  bench.time.enter(Doing::in_call);
  fakes[1].used = 400;
  bench.time.leave(epoch + 60);
  fakes[1].used = 450;
  CHECK(bench.time.now() == epoch + 60);
  bench.time.set_computing_counts(true);
  CHECK(bench.time.now() == epoch + 60);
  fakes[1].used = 457;
  CHECK(bench.time.now() == epoch + 67);
}

TEST_CASE("Threads that compute hold others up, those that wait do not", "[virtual_time]") {
  Bench bench;
  CHECK(bench.time.earliest_other() == VirtualTime::never);
  bench.as(2, [] {}, true);
  fakes[2].used = 400;
  CHECK(bench.time.earliest_other() == epoch + 400);
  fakes[2].runs = false;
  CHECK(bench.time.earliest_other() == VirtualTime::never);
}

TEST_CASE("What others do before a time shows, whether they are seen at it or not",
          "[virtual_time]") {
  constexpr Nanoseconds time = epoch + 1000;
  Bench bench;
  bench.as(2, [] {}, true);
  fakes[2].runs = false;
  auto changes = [&, before = bench.time.activity_before(time)]() mutable {
    return std::exchange(before, bench.time.activity_before(time)) != before;
  };
  CHECK_FALSE(changes());
  fakes[1].used = 500;  // the one that looks
  CHECK_FALSE(changes());
  fakes[2].used = 1;
  CHECK(changes());
  bench.as(3, [] {}, true);  // it has used nothing yet
  CHECK(changes());
  bench.as(4, [&] {
    bench.time.enter(Doing::waiting);
    bench.time.stop_waiting();
  });
  CHECK(changes());
  fakes[2].used = 5000;
  CHECK(changes());  // it went beyond
  fakes[2].used = 6000;
  CHECK_FALSE(changes());
}

TEST_CASE("Threads that wait to be signalled are told from all others", "[virtual_time]") {
  Bench bench;
  CHECK(bench.time.others_are_parked());
  int condition = 0;
  bench.as(2, [&] { VirtualTime::park(&condition); }, true);
  CHECK(bench.time.others_are_parked());
  VirtualTime::Thread* const starts = bench.time.reserve(Role::program, epoch);
  CHECK_FALSE(bench.time.others_are_parked());
  bench.time.release(starts);
  bench.time.unpark(&condition);
  CHECK_FALSE(bench.time.others_are_parked());
}

TEST_CASE("A thread in a call that waits for a kernel's thread is not parked", "[virtual_time]") {
  Bench bench;
  int condition = 0;
  bench.as(
      2,
      [&] {
        bench.time.enter(Doing::in_call);
        VirtualTime::park(&condition);
      },
      true);
  CHECK_FALSE(bench.time.others_are_parked());
}

TEST_CASE("A thread's time never falls behind the time that it has seen", "[virtual_time]") {
  const Nanoseconds free = GENERATE(0, 10);
  static constinit Nanoseconds used = 0;
  static constinit Nanoseconds step = 1;  // what a turn costs while `start` measures it
  used = 0;
  step = 1;
  VirtualTime time({.processor_time = [](pid_t) { return used += step; },
                    .runs = [](pid_t) { return true; },
                    .waits_outside = [](pid_t) { return false; },
                    .this_thread = [] { return number; }});
  time.add(Role::program, 0);
  time.start(epoch, free);
  step = 0;  // a turn is cheaper than measured
  used += 10;
  const Nanoseconds seen = time.now();
  CHECK(seen == epoch + 10);
  SECTION("in a call") { CHECK(time.enter(Doing::in_call) == seen); }
  SECTION("after a signal") {
    time.raise(seen);
    CHECK(VirtualTime::seen() == seen);
  }
  SECTION("at its end") {}
  CHECK(time.remove() == seen);
}

TEST_CASE("A thread that spins for the lock does not compute", "[virtual_time]") {
  Bench bench;
  std::atomic<bool> holds = false;
  Nanoseconds earliest = 0;
  while_locked = [&] {
    const int before = asked;
    holds = true;
    while (asked == before) {  // until this test's thread wants the lock
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it spins by now
    fakes[1].used = 500;
  };
  std::thread helper([&] {
    number = 2;
    earliest = bench.time.earliest_other();
  });
  while (!holds) {
    std::this_thread::yield();
  }
  CHECK(bench.time.enter(Doing::in_call) == epoch);
  helper.join();
  while_locked = {};
  CHECK(earliest == epoch);
  bench.time.leave(epoch);
}

TEST_CASE("A thread that is going to be started holds others up", "[virtual_time]") {
  Bench bench;
  VirtualTime::Thread* const place = bench.time.reserve(Role::program, epoch + 40);
  CHECK(bench.time.earliest_other() == epoch + 40);
  SECTION("until it has run") {
    std::thread([&] {
      number = 2;
      bench.time.add(Role::program, epoch + 40, place);
    }).join();
    fakes[2].used = 5;
    CHECK(bench.time.earliest_other() == epoch + 45);
    fakes[2].runs = false;
  }
  SECTION("unless that fails") { bench.time.release(place); }
  CHECK(bench.time.earliest_other() == VirtualTime::never);
}

TEST_CASE("A thread that waited is where the one is that left a call", "[virtual_time]") {
  Bench bench;
  bench.as(2, [] {}, true);
  const bool waits = GENERATE(true, false);
  fakes[2].runs = !waits;
  bench.time.enter(Doing::in_call);
  bench.time.leave(epoch + 9000);
  fakes[2].runs = true;
  fakes[2].used = 5;
  CHECK(bench.time.earliest_other() == epoch + (waits ? 9005 : 5));
}

TEST_CASE("A thread in a call does nothing before its end", "[virtual_time]") {
  Bench bench;
  bench.as(
      2,
      [&bench] {
        bench.time.enter(Doing::in_call);
        std::thread([&bench] {
          number = 3;
          CHECK(bench.time.earliest_other() == epoch);
        }).join();
        bench.time.aim(epoch + 700);
      },
      true);
  CHECK(bench.time.earliest_other() == epoch + 700);
  CHECK(bench.time.another_is_in_call());
}

TEST_CASE("What another thread did is not before it", "[virtual_time]") {
  Bench bench;
  fakes[1].used = 10;
  bench.time.raise(epoch + 5);
  CHECK(bench.time.now() == epoch + 10);
  bench.time.raise(epoch + 100);
  CHECK(bench.time.now() == epoch + 100);
  CHECK(VirtualTime::seen() == epoch + 100);
  fakes[1].used = 17;
  CHECK(bench.time.now() == epoch + 107);
}

TEST_CASE("Where only the card takes time, short computing takes none", "[virtual_time]") {
  Bench bench(1000);
  fakes[1].used = 999;
  CHECK(bench.time.now() == epoch);
  bench.time.enter(Doing::in_call);
  bench.time.leave(epoch + 50);
  fakes[1].used = 1900;
  CHECK(bench.time.now() == epoch + 50);
  fakes[1].used = 2999;  // one that computes for long does get on
  CHECK(bench.time.now() == epoch + 2050);
}

TEST_CASE("After a fork only the caller is left, at its time", "[virtual_time]") {
  Bench bench;
  bench.as(2, [] {}, true);
  fakes[1].used = 30;
  if (GENERATE(true, false)) {
    bench.time.enter(Doing::in_call);
  } else {
    CHECK(bench.time.now() == epoch + 30);
  }
  bench.time.keep_only_this();
  CHECK(bench.time.now() == epoch + 30);
  CHECK(bench.time.earliest_other() == VirtualTime::never);
}

}  // namespace isthmus::card::clock

#include "isthmus/card/ring.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "u250.hpp"

namespace isthmus::card {
namespace {

constexpr Time cycle = 6'467'200;  // 64 B every 6.4 ns, stretched by 1.05 %
constexpr Time latency = 610 * nanosecond;
constexpr Time hop = 42 * nanosecond;
constexpr std::uint64_t seed = 7;

Board board_with(const Parameters& changes = {}) { return u250_with(changes); }

RingTime run(const Board& board, const RingCall& call, bool fast_forward = true) {
  Ring ring(board.serial.value(), board.faults, call, fast_forward);
  const RingTime time = ring.run(seed);
  CHECK(time.wrong == 0);
  CHECK(ring.holds_last(seed));
  CHECK_FALSE(ring.holds_last(seed + 1));
  return time;
}

/// Returns a random integer from 1 to `most`.
std::int64_t upto(std::mt19937& random, std::size_t most) {
  return static_cast<std::int64_t>(1 + random() % most);
}

/// Returns the time of a message: each flit needs the wire, and the room of the flit `depth` before
/// it.
Time one_way(std::int64_t flits, std::int64_t depth, Time way) {
  std::vector<Time> begins;
  for (std::int64_t flit = 0; flit < flits; ++flit) {
    Time begin = flit == 0 ? 0 : begins.back() + cycle;
    if (flit >= depth) {
      begin = std::max(begin, begins.at(static_cast<std::size_t>(flit - depth)) + cycle + 2 * way);
    }
    begins.push_back(begin);
  }
  return begins.back() + cycle + way;
}

std::int64_t flits_of(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 63) / 64); }

TEST_CASE("a step is a message there and one back, each of whole flits", "[ring]") {
  const Board board = board_with();
  CHECK(run(board, {.bytes = 1, .depth = 512}).slowest == 2 * (latency + cycle));
  CHECK(run(board, {.bytes = 64, .depth = 512}).slowest == 2 * (latency + cycle));
  CHECK(run(board, {.bytes = 65, .depth = 512}).slowest == 2 * (latency + 2 * cycle));
  CHECK(run(board, {.cards = 8, .bytes = 4096, .steps = 3, .depth = 512}).slowest ==
        6 * (latency + hop + 64 * cycle));
}

TEST_CASE("kernels that send and take at once need half a step, at any depth", "[ring]") {
  const Board board = board_with({{"serial.in_turn", "false"}});
  CHECK(run(board, {.bytes = 65, .depth = 512}).slowest == latency + 2 * cycle);
  std::mt19937 random(20'261'123);
  for (int i = 0; i < 40; ++i) {
    const RingCall call{.cards = upto(random, 5),
                        .bytes = static_cast<std::size_t>(upto(random, 3000)),
                        .steps = upto(random, 40),
                        .depth = upto(random, 60)};
    const Time way = latency + (call.cards > 1 ? hop : 0);
    const Time expected = call.steps * one_way(flits_of(call.bytes), call.depth, way);
    // If channels are shallow, a step begins before the previous step's room is announced.
    CHECK(run(board, call).slowest >= expected);
    CHECK(run(board, call).slowest == run(board, call, false).slowest);
    RingCall deep = call;
    deep.depth = 512;
    CHECK(run(board, deep).slowest == call.steps * one_way(flits_of(call.bytes), 512, way));
    const Board shared = board_with({{"serial.in_turn", "false"}, {"serial.sharing", "3"}});
    CHECK(run(shared, call).slowest == run(shared, call, false).slowest);
  }
}

TEST_CASE("no depth, size or number of cards blocks a ring, and all data arrive", "[ring]") {
  std::mt19937 random(20'261'122);
  for (int trial = 0; trial < 200; ++trial) {
    const RingCall call{.cards = upto(random, 9),
                        .bytes = std::size_t{1} + random() % (std::size_t{1} << (random() % 15)),
                        .steps = upto(random, 5),
                        .depth = upto(random, std::size_t{1} << (random() % 10))};
    CAPTURE(call.cards, call.bytes, call.steps, call.depth);
    const RingTime time = run(board_with(), call, false);
    CHECK(time.skipped_steps == 0);
    CHECK(static_cast<std::int64_t>(time.messages) == 2 * call.cards * call.steps);
    const Time way = latency + (call.cards > 1 ? hop : 0);
    CHECK(time.slowest == 2 * call.steps * one_way(flits_of(call.bytes), call.depth, way));
  }
}

TEST_CASE("what is left out of a ring changes no time, whoever shares a wire or is late",
          "[ring]") {
  std::mt19937 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const std::string sharing = std::to_string(1 + random() % 4);
    const std::string barrier = std::to_string(random() % 3 * 700);
    const Board board = board_with({{"serial.sharing", sharing},
                                    {"serial.barrier_ns", barrier},
                                    {"serial.start_ns", std::to_string(random() % 2 * 5000)}});
    const RingCall call{.cards = upto(random, 14),
                        .bytes = std::size_t{1} + random() % 2000,
                        .steps = upto(random, 60),
                        .depth = upto(random, 20)};
    CAPTURE(call.cards, call.bytes, call.steps, call.depth, sharing, barrier);
    CHECK(run(board, call, true).slowest == run(board, call, false).slowest);
  }
}

TEST_CASE("a large ring is as fast as its image, and a long loop takes no longer to simulate",
          "[ring]") {
  const RingTime time =
      run(board_with(), {.cards = 4096, .bytes = 1 << 20U, .steps = published_steps, .depth = 512});
  CHECK(time.simulated_cards < 10);
  CHECK(time.skipped_steps > 16'000);
  CHECK(time.events < 100'000);
  CHECK(time.slowest == 2 * published_steps * (latency + hop + 16'384 * cycle));
}

TEST_CASE("links on one wire wait for one another; a late card is waited for", "[ring]") {
  const RingCall call{.cards = 8, .bytes = 64'000, .steps = 50, .depth = 4096};
  const Time alone = run(board_with(), call).slowest;
  const Time two = run(board_with({{"serial.sharing", "2"}}), call).slowest;
  const Time eight = run(board_with({{"serial.sharing", "8"}}), call).slowest;
  CHECK(two >= alone);
  // All the time, eight messages of 1000 flits are on one wire in each direction.
  const Time messages = 8 * call.steps;
  CHECK(eight >= messages * 1000 * cycle);
  CHECK(eight < (messages + 8) * (1000 * cycle + latency));
  const Board late = board_with({{"serial.barrier_ns", "1000"}, {"serial.start_ns", "500"}});
  CHECK(run(late, call).slowest == alone + 3500 * nanosecond);
}

TEST_CASE("a flipped bit is found, also where steps are left out", "[ring]") {
  const std::int64_t message = GENERATE(1, 2, 7, 19'999, 20'000);
  const Board board = board_with({{"faults.flip_message", std::to_string(message)}});
  Ring ring(board.serial.value(), board.faults,
            {.cards = 3, .bytes = 100, .steps = 10'000, .depth = 8}, true);
  const RingTime time = ring.run(seed);
  CHECK(time.wrong == 1);
  CHECK(time.first_wrong.starts_with("message " + std::to_string(message) + " from card " +
                                     (message % 2 == 1 ? "0 to card 1" : "1 to card 0")));
  CHECK(time.slowest ==
        run(board_with(), {.cards = 3, .bytes = 100, .steps = 10'000, .depth = 8}).slowest);
}

TEST_CASE("what is no ring is refused, and what takes too long is told", "[ring]") {
  const Board board = board_with();
  for (const RingCall& call :
       {RingCall{.cards = 0}, RingCall{.bytes = 0}, RingCall{.steps = 0}, RingCall{.depth = 0}}) {
    CHECK_THROWS_AS(Ring(board.serial.value(), board.faults, call, true), BoardError);
  }
  Ring endless(board.serial.value(), board.faults,
               {.bytes = 1 << 20U, .steps = std::int64_t{1} << 40U, .depth = 512}, true);
  CHECK_THROWS_AS(endless.run(seed), TooLongError);
}

}  // namespace
}  // namespace isthmus::card

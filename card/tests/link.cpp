#include "isthmus/card/link.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "u250.hpp"

namespace isthmus::card {
namespace {

/// Seconds per byte of gen3 x16: rate, 128b/130b coding, lanes, and SKP ordered sets.
constexpr double byte_s = 8.0 / (8e9 * 128 / 130 * 16) * (1 + 1.0 / 371);

TEST_CASE("writes back to back use the wire fully, but for their headers") {
  const int payload = GENERATE(128, 256, 512);
  const auto board = u250_with(
      {{"link.max_payload_bytes", std::to_string(payload)}, {"link.user_bus_bytes", "4096"}});
  Link link(board.link, 1);
  constexpr int count = 1000;
  Time last = 0;
  for (int i = 0; i < count; ++i) {
    last = link.send(0, Way::up, Packet::write, payload);
  }
  const Time expected =
      std::llround(count * (payload + 24) * byte_s * 1e15) + from_nanoseconds(200);
  // Each packet's time is rounded to a femtosecond, the time per byte to 2^-21 fs.
  CHECK(std::abs(last - expected) <= count);
}

TEST_CASE("a narrow user bus sets the pace: whole beats, header included") {
  const auto board = u250_with({});
  Link link(board.link, 1);
  const Time first = link.send(0, Way::up, Packet::write, 256);
  const Time second = link.send(0, Way::up, Packet::write, 256);
  CHECK(first == from_nanoseconds(20 + 200));  // 272 B are 5 beats of 4 ns
  CHECK(second - first == from_nanoseconds(20));
  const auto straddling = u250_with({{"link.straddle", "true"}});
  CHECK(Link(straddling.link, 1).send(0, Way::up, Packet::write, 256) ==
        Link(straddling.link, 1).wire_time(Packet::write, 256) + from_nanoseconds(200));
}

TEST_CASE("generations and address widths change bytes and byte times") {
  const auto time = [](const std::string& generation, const std::string& lanes,
                       const std::string& bits) {
    const auto board = u250_with(
        {{"link.generation", generation}, {"link.lanes", lanes}, {"link.address_bits", bits}});
    return Link(board.link, 1).wire_time(Packet::write, 76);
  };
  // Gen 1 x1 has 250 MB/s before clock compensation, gen 2 x1 twice as much.
  CHECK(time("1", "1", "64") == std::llround(100 * 4e6 * (1 + 4.0 / 1538)));
  CHECK(time("2", "8", "32") == std::llround(96 * 0.25e6 * (1 + 4.0 / 1538)));
  CHECK(std::abs(time("5", "16", "64") - std::llround(100 * byte_s / 4 * 1e15)) <= 1);
}

TEST_CASE("acknowledgements are charged to the other direction") {
  const auto board = u250_with({{"link.user_bus_bytes", "4096"}});
  Link link(board.link, 1);
  const Time alone = link.send(0, Way::down, Packet::read_request, 0);
  link.reset();
  for (int i = 0; i < 4; ++i) {
    link.send(0, Way::up, Packet::write, 256);  // 4 x 280 B exceed 1024 B once
  }
  const Time delayed = link.send(0, Way::down, Packet::read_request, 0);
  CHECK(delayed - alone == std::llround(8 * byte_s * 1e15));
}

TEST_CASE("FLITs carry packets without framing, and acknowledgements at no cost") {
  const auto board = u250_with({{"link.generation", "6"}, {"link.user_bus_bytes", "4096"}});
  Link link(board.link, 1);
  CHECK(link.wire_bytes(Packet::write, 256) == 256 + 16);
  CHECK(link.wire_bytes(Packet::read_request, 0) == 16);
  CHECK(link.wire_bytes(Packet::completion, 256) == 256 + 12);
  // A FLIT has 236 B of packets in 256 B, so 16 lanes at 64 GT/s carry 118 B in a nanosecond.
  CHECK(std::abs(link.wire_time(Packet::write, 256) - std::llround(272 / 118.0 * 1e6)) <= 1);
  const Time alone = link.send(0, Way::down, Packet::read_request, 0);
  link.reset();
  for (int i = 0; i < 8; ++i) {
    link.send(0, Way::up, Packet::write, 256);
  }
  CHECK(link.send(0, Way::down, Packet::read_request, 0) == alone);
}

TEST_CASE("completions end at read completion boundaries and keep the maximum payload") {
  const auto board = u250_with({});
  const auto split = [&](std::uint64_t address, std::int64_t bytes) {
    std::vector<std::int64_t> parts;
    split_completions(board.link, address, bytes, [&](std::int64_t n) { parts.push_back(n); });
    return parts;
  };
  CHECK(split(0, 512) == std::vector<std::int64_t>{256, 256});
  CHECK(split(60, 512) == std::vector<std::int64_t>{196, 256, 60});
  CHECK(split(64, 100) == std::vector<std::int64_t>{100});
  CHECK(split(1, 1) == std::vector<std::int64_t>{1});
}

TEST_CASE("a corrupted packet costs a refusal's round trip and its repetition") {
  const auto board = u250_with({{"link.error_rate", "0.01"}, {"link.user_bus_bytes", "4096"}});
  const auto healthy = u250_with({{"link.user_bus_bytes", "4096"}});
  constexpr int count = 10'000;
  const auto total = [&](Link& link) {
    Time last = 0;
    for (int i = 0; i < count; ++i) {
      last = link.send(0, Way::up, Packet::write, 256);
    }
    return last;
  };
  Link noisy(board.link, 42);
  Link clean(healthy.link, 42);
  const Time lost = total(noisy) - total(clean);
  const auto replays = static_cast<std::int64_t>(noisy.replays());
  // Of 10 000 packets 1 % are replayed, within five standard deviations of a binomial count.
  CHECK(std::abs(replays - 101) <= 50);
  const Time each =
      clean.wire_time(Packet::write, 256) + 2 * clean.latency() + std::llround(8 * byte_s * 1e15);
  CHECK(std::abs(lost - replays * each) <= replays);
  noisy.reset();
  const Time again = total(noisy);
  Link other(board.link, 43);
  CHECK(total(other) != again);
  noisy.reset();
  CHECK(total(noisy) == again);
}

}  // namespace
}  // namespace isthmus::card

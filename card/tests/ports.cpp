// Tests the times of kernels whose ports work at once.
#include <catch2/catch.hpp>

#include "isthmus/card/kernel.hpp"
#include "u250.hpp"

using namespace isthmus::card;

namespace {

constexpr std::int64_t MiB = std::int64_t{1} << 20U;

PortWork reads(std::size_t bank, std::int64_t bytes) { return {.bank = bank, .bytes = bytes}; }
PortWork writes(std::size_t bank, std::int64_t bytes) {
  return {.writes = true, .bank = bank, .bytes = bytes};
}
PortWork of_host(PortWork port) {
  port.target = Target::host;
  return port;
}

Time time_of(const std::vector<PortWork>& ports, std::int64_t sweeps = 1,
             const Parameters& changes = {}) {
  Machine machine(u250_with(changes), 1);
  return KernelUnit(machine).run(ports, sweeps);
}

double ratio(Time time, Time other) {
  return static_cast<double>(time) / static_cast<double>(other);
}

}  // namespace

TEST_CASE("ports of other banks work at once") {
  const Time copy = time_of({reads(0, 64 * MiB), writes(1, 64 * MiB)});
  CHECK(time_of({reads(0, 64 * MiB), writes(1, 64 * MiB), reads(2, 64 * MiB),
                 writes(3, 64 * MiB)}) == copy);
  // A port with fewer bytes does not work in step with the others, and ends before them.
  const Time beside = time_of({reads(0, 64 * MiB), writes(1, 64 * MiB), reads(2, 16 * MiB)});
  CHECK(ratio(beside, copy) == Approx(1).epsilon(0.001));
}

TEST_CASE("ports of one bank share it") {
  const Time one = time_of({reads(0, 64 * MiB)});
  CHECK(ratio(time_of({reads(0, 64 * MiB), reads(0, 64 * MiB)}), one) == Approx(2).epsilon(0.001));
  CHECK(ratio(time_of({reads(0, 64 * MiB), writes(0, 32 * MiB)}), one) ==
        Approx(1.5).epsilon(0.001));
  CHECK(ratio(time_of({reads(0, 64 * MiB), reads(1, 64 * MiB)}), one) == Approx(1).epsilon(0.001));
}

TEST_CASE("a bank that refreshes itself does nothing else meanwhile") {
  const Parameters refreshing = {{"memory.refresh_interval_ns", "7800"},
                                 {"memory.refresh_ns", "780"}};
  for (const std::vector<PortWork>& ports : {std::vector{reads(0, 64 * MiB)},
                                             {writes(0, 64 * MiB)},
                                             {reads(0, 64 * MiB), writes(1, 64 * MiB)},
                                             {reads(0, 64 * MiB), writes(0, 64 * MiB)}}) {
    CHECK(ratio(time_of(ports, 1, refreshing), time_of(ports)) == Approx(1 / 0.9).epsilon(0.001));
  }
  CHECK_THROWS_AS(u250_with({{"memory.refresh_interval_ns", "300"}, {"memory.refresh_ns", "300"}}),
                  BoardError);
}

TEST_CASE("a bank rests where a kernel's reads and writes take turns") {
  const Parameters turning = {{"memory.write_to_read_ns", "30"}, {"memory.read_to_write_ns", "10"}};
  const auto took = [&turning](const std::vector<PortWork>& ports) {
    return time_of(ports, 1, turning) - time_of(ports);
  };
  CHECK(took({reads(0, 64 * MiB)}) == 0);
  CHECK(took({writes(0, 64 * MiB)}) <= from_nanoseconds(10));
  CHECK(took({reads(0, 64 * MiB), writes(1, 64 * MiB)}) <= from_nanoseconds(10));
  // Two bursts of 4 KiB, a read and a write, change the bank's direction twice; sometimes only one
  // waits.
  const double turns = ratio(took({reads(0, 64 * MiB), writes(0, 64 * MiB)}),
                             64 * MiB / 4096 * from_nanoseconds(40));
  CHECK(turns > 0.9);
  CHECK(turns <= 1);
}

TEST_CASE("a kernel's port rests after each burst that it writes to the card") {
  const Parameters gap = {{"kernel.write_gap_cycles", "4"}, {"kernel.burst_beats", "16"}};
  const Parameters none = {{"kernel.burst_beats", "16"}};
  const std::vector<PortWork> written = {writes(0, 64 * MiB)};
  CHECK(ratio(time_of(written, 1, gap), time_of(written, 1, none)) ==
        Approx(20.0 / 16).epsilon(0.001));
  const std::vector<PortWork> read = {reads(0, 64 * MiB)};
  CHECK(time_of(read, 1, gap) == time_of(read, 1, none));
  const std::vector<PortWork> to_host = {reads(0, 16 * MiB), of_host(writes(0, 16 * MiB))};
  CHECK(time_of(to_host, 1, gap) == time_of(to_host, 1, none));
}

TEST_CASE("ports of the host's memory share the link") {
  const std::vector<PortWork> one = {of_host(reads(0, 16 * MiB))};
  const std::vector<PortWork> two = {of_host(reads(0, 16 * MiB)), of_host(reads(0, 16 * MiB))};
  CHECK(ratio(time_of(two), time_of(one)) > 1.9);
  const Link link(u250_with().link, 1);
  const double most = 512.0 / static_cast<double>(2 * link.wire_time(Packet::completion, 256));
  CHECK(32.0 * MiB / static_cast<double>(time_of(two)) < most);
  // Directions do not slow each other: while data come from the host, others are written to the
  // card.
  const std::vector<PortWork> through = {of_host(reads(0, 16 * MiB)), writes(0, 16 * MiB)};
  CHECK(ratio(time_of(through), time_of(one)) == Approx(1).epsilon(0.001));
  CHECK(ratio(time_of(through, 10), time_of(one)) == Approx(10).epsilon(0.01));
}

TEST_CASE("ports that move nothing take nothing") {
  CHECK(time_of({}) == 0);
  CHECK(time_of({reads(0, 0)}) == 0);
  CHECK(time_of({reads(0, MiB), writes(1, 0)}) == time_of({reads(0, MiB)}));
}

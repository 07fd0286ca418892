// Kernels with several ports at once.
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

Time time_of(const std::vector<PortWork>& ports, std::int64_t sweeps = 1) {
  Machine machine(u250_with(), 1);
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
  // One that moves less is not in step with the others, and is done before them.
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

TEST_CASE("ports of the host's memory share the link") {
  const std::vector<PortWork> one = {of_host(reads(0, 16 * MiB))};
  const std::vector<PortWork> two = {of_host(reads(0, 16 * MiB)), of_host(reads(0, 16 * MiB))};
  CHECK(ratio(time_of(two), time_of(one)) > 1.9);
  const Link link(u250_with().link, 1);
  const double most = 512.0 / static_cast<double>(2 * link.wire_time(Packet::completion, 256));
  CHECK(32.0 * MiB / static_cast<double>(time_of(two)) < most);
  // Directions do not: what is read from the host is written to the card meanwhile.
  const std::vector<PortWork> through = {of_host(reads(0, 16 * MiB)), writes(0, 16 * MiB)};
  CHECK(ratio(time_of(through), time_of(one)) == Approx(1).epsilon(0.001));
  CHECK(ratio(time_of(through, 10), time_of(one)) == Approx(10).epsilon(0.01));
}

TEST_CASE("ports that move nothing take nothing") {
  CHECK(time_of({}) == 0);
  CHECK(time_of({reads(0, 0)}) == 0);
  CHECK(time_of({reads(0, MiB), writes(1, 0)}) == time_of({reads(0, MiB)}));
}

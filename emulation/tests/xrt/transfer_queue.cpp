// Transfers that overlap in simulated time, against the card's own DMA engine.
#include "isthmus/card/process/transfer_queue.hpp"

#include <catch2/catch.hpp>

#include "../../../card/tests/u250.hpp"

using namespace isthmus::card;
using namespace isthmus::card::process;

namespace {

constexpr std::int64_t MiB = std::int64_t{1} << 20U;
constexpr std::uint64_t wraps = ~std::uint64_t{0} - 1000;  ///< soon after, times do

struct Bench {
  explicit Bench(const Parameters& changes = {}) : timing(u250_with(changes)), queue(timing) {}

  Time alone(Direction direction, std::int64_t bytes) {
    return timing.transfer(direction, bytes, 0, 0).total();
  }
  /// When a transfer ends that begins at `begin`.
  Time add(Time begin, Direction direction, std::int64_t bytes, std::size_t bank = 0) {
    const Cost cost = queue.add(wraps + static_cast<std::uint64_t>(begin), direction, bytes, bank,
                                timing.transfer(direction, bytes, 0, 0));
    return begin + cost.total();
  }

  Timing timing;
  TransferQueue queue;
};

double ratio(Time time, Time other) {
  return static_cast<double>(time) / static_cast<double>(other);
}

}  // namespace

TEST_CASE("transfers one after another take what each takes alone", "[card][process]") {
  const auto bytes = GENERATE(std::int64_t{1}, std::int64_t{4096}, 8 * MiB);
  Bench bench;
  Time now = 0;
  for (int i = 0; i < 4; ++i) {
    const Direction direction = i % 2 == 0 ? Direction::h2d : Direction::d2h;
    const Time end = bench.add(now, direction, bytes);
    CHECK(end - now == bench.alone(direction, bytes));
    now = end;
  }
}

TEST_CASE("both directions at once take as long as on the card", "[card][process]") {
  const auto bytes = GENERATE(1 * MiB, 2 * MiB, 8 * MiB, 64 * MiB);
  const std::size_t bank = GENERATE(0U, 1U);
  Bench bench;
  const Time first = bench.add(0, Direction::h2d, bytes);
  CHECK(first == bench.alone(Direction::h2d, bytes));
  const Time second = bench.add(0, Direction::d2h, bytes, bank);
  Machine machine(u250_with(), 1);
  DmaEngine engine(machine);
  const auto residence = [&](std::int64_t cache) { return Residence(cache, bytes); };
  const HostParameters host = machine.board.host;
  const std::array jobs = {DmaJob{.bytes = bytes, .residence = residence(host.cache_read_bytes)},
                           DmaJob{.direction = Direction::d2h,
                                  .bytes = bytes,
                                  .bank = bank,
                                  .residence = residence(host.cache_write_bytes)}};
  CHECK(ratio(std::max(first, second), engine.run(jobs)) == Approx(1).epsilon(0.03));
}

TEST_CASE("several transfers of one direction take as long as on the card", "[card][process]") {
  const auto direction = GENERATE(Direction::h2d, Direction::d2h);
  // One channel fills the link, or half of it, or another limit holds for all.
  const Parameters changes = GENERATE(
      Parameters{}, Parameters{{"dma.tags", "16"}}, Parameters{{"dma.d2h_descriptor_ns", "200"}},
      Parameters{{"dma.tags", "48"}, {"dma.h2d_bandwidth_Bps", "9e9"}});
  CAPTURE(changes);
  const int threads = GENERATE(2, 4);
  Parameters with = changes;
  with["dma.engines"] = std::to_string(threads);
  Bench bench(with);
  Time last = 0;
  for (int thread = 0; thread < threads; ++thread) {
    last = std::max(last, bench.add(0, direction, 8 * MiB));
  }
  Machine machine(u250_with(with), 1);
  DmaEngine engine(machine);
  const HostParameters& host = machine.board.host;
  const bool reads = direction == Direction::h2d;
  const DmaJob job{
      .direction = direction,
      .bytes = 8 * MiB,
      .residence = Residence(reads ? host.cache_read_bytes : host.cache_write_bytes, 8 * MiB)};
  const std::vector jobs(static_cast<std::size_t>(threads), job);
  CHECK(ratio(last, engine.run(jobs)) == Approx(1).epsilon(0.02));
}

TEST_CASE("small transfers overlap as far as there are channels", "[card][process]") {
  const auto ends_of = [](const std::string& channels) {
    Bench bench(Parameters{{"dma.engines", channels}});
    std::array<Time, 3> ends{};
    for (Time& end : ends) {
      end = bench.add(0, Direction::h2d, 64);
    }
    return ends;
  };
  Bench bench;
  const Time alone = bench.alone(Direction::h2d, 64);
  const Time card = alone - from_nanoseconds(3000 + 2000);  // without submit_ns and finish_ns
  const auto one = ends_of("1");
  CHECK(one[0] == alone);
  CHECK(ratio(one[1] - one[0], card) == Approx(1).epsilon(0.001));
  CHECK(ratio(one[2] - one[1], card) == Approx(1).epsilon(0.001));
  const auto two = ends_of("2");
  CHECK(ratio(two[1], alone) == Approx(1).epsilon(0.02));
  CHECK(ratio(two[2] - two[0], card) == Approx(1).epsilon(0.02));
}

TEST_CASE("a transfer that begins when others are over is alone", "[card][process]") {
  Bench bench;
  const Time end = bench.add(0, Direction::h2d, MiB);
  bench.add(0, Direction::d2h, MiB);
  const Time later = 3 * end;
  CHECK(bench.add(later, Direction::h2d, MiB) - later == bench.alone(Direction::h2d, MiB));
}

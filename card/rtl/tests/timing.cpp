// Compares the kernels' clock cycles with closed forms, which are exact: the cycles before the
// first address follow from the sources.
//
// Clock 0 writes the start bit. Clock 1 sees `start`, 2 the run, 3 the burst; at clock 4 the first
// address is taken. W begins a clock after AW (the FIFO of bursts); a FIFO between R and W takes
// two. In the clock after the last answer nothing is in flight: it ends `cycles`, or begins the
// next sweep, whose first address is taken three clocks later. With n beats, latencies r and w:
//   read  1 + iterations (n + r + 3)      write  1 + iterations (n + w + 4)
//   copy  1 + iterations (n + r + w + 5)
#include "watched.hpp"

using isthmus::card::LinkedMemory;
using isthmus::card::make_rtl_kernel;
using namespace isthmus::card::testing;

namespace {

constexpr std::uint64_t base = 0x4000'0000;

struct Times {
  isthmus::card::LinkedMemoryOptions options;
  std::uint64_t size = 0;
  std::uint64_t iterations = 1;
};

std::uint64_t cycles(const char* name, const Times& times) {
  std::vector<std::byte> bytes(times.size);
  LinkedMemory first(base, bytes, times.options);
  LinkedMemory second(base, bytes, times.options);
  const auto kernel = make_rtl_kernel(name, period);
  const std::size_t masters = kernel->masters();
  kernel->connect(0, first);
  if (masters == 2) {
    kernel->connect(1, second);
  }
  for (std::size_t n = 0; n < masters; ++n) {
    kernel->set_argument(n, base);
  }
  kernel->set_argument(masters, times.size);
  kernel->set_argument(masters + 1, times.iterations);
  run(*kernel);
  return kernel->cycles();
}

}  // namespace

TEST_CASE("rtl: linear sweeps take beats, latency and fill", "[rtl]") {
  const auto size = GENERATE(as<std::uint64_t>{}, 8256, 16'384, 262'144, 1'000'000 / 64 * 64);
  const auto iterations = GENERATE(as<std::uint64_t>{}, 1, 2, 5);
  const auto r = GENERATE(as<std::uint64_t>{}, 0, 1, 100, 325);
  const auto w = GENERATE(as<std::uint64_t>{}, 0, 312);
  const std::uint64_t n = size / beat_bytes;
  const Times times{{.read_latency = static_cast<isthmus::card::Time>(r) * period,
                     .write_latency = static_cast<isthmus::card::Time>(w) * period},
                    size,
                    iterations};
  CAPTURE(size, iterations, r, w);
  CHECK(cycles("read_bandwidth", times) == 1 + iterations * (n + r + 3));
  CHECK(cycles("write_bandwidth", times) == 1 + iterations * (n + w + 4));
  CHECK(cycles("bandwidth", times) == 1 + iterations * (n + r + w + 5));
}

TEST_CASE("rtl: beyond its bursts in flight a kernel waits for latency", "[rtl]") {
  // The next address follows two clocks after the last beat of the burst that made room. So 16
  // bursts take r + 64 + 1 clocks, if their beats take less.
  constexpr std::uint64_t window = outstanding * burst_beats;
  constexpr std::uint64_t windows = 8;
  const auto r = GENERATE(as<std::uint64_t>{}, 959, 960, 1200, 4000);
  const Times times{{.read_latency = static_cast<isthmus::card::Time>(r) * period},
                    windows * window * beat_bytes};
  const std::uint64_t longer = std::max(window, r + burst_beats + 1) * (windows - 1);
  CAPTURE(r);
  CHECK(cycles("read_bandwidth", times) == 1 + longer + window + r + 3);
}

TEST_CASE("rtl: small buffers are moved block by block, two in flight", "[rtl]") {
  // Two blocks take r + 64 + 1 clocks, if their beats take less.
  const auto r = GENERATE(as<std::uint64_t>{}, 1, 63, 101, 325);
  const auto size = GENERATE(as<std::uint64_t>{}, 4096, 8192);
  Times times{{.read_latency = static_cast<isthmus::card::Time>(r) * period}, size, 100};
  const std::uint64_t shorter = cycles("read_bandwidth", times);
  times.iterations = 200;
  const std::uint64_t longer = cycles("read_bandwidth", times);
  const std::uint64_t blocks = 100 * size / 4096;
  CAPTURE(r, size);
  CHECK(longer - shorter == blocks / 2 * std::max<std::uint64_t>(128, r + burst_beats + 1));
}

TEST_CASE("rtl: a slower link sets the pace", "[rtl]") {
  const auto beat_time = GENERATE(period * 3 / 2, period * 5 / 4 + 1, 7 * period);
  constexpr std::uint64_t n = 4096;
  constexpr isthmus::card::Time latency = 200 * period;
  const Times times{{.read_latency = latency, .beat_time = beat_time}, n * beat_bytes};
  const auto arrival =
      (latency + static_cast<isthmus::card::Time>(n) * beat_time + period - 1) / period;
  CAPTURE(beat_time);
  CHECK(cycles("read_bandwidth", times) == 5 + static_cast<std::uint64_t>(arrival));
  const Times written{{.write_latency = latency, .beat_time = beat_time}, n * beat_bytes};
  CHECK(cycles("write_bandwidth", written) == 6 + static_cast<std::uint64_t>(arrival));
}

TEST_CASE("rtl: the same seed gives the same cycles", "[rtl]") {
  const auto once = [](std::uint32_t seed) {
    auto bytes = noise(65'536, 1);
    LinkedMemory memory(base, bytes, {.read_latency = 50 * period});
    Watched input(memory, 90, seed);
    Watched output(memory, 90, seed + 1);
    const auto kernel = make_rtl_kernel("bandwidth", period);
    kernel->connect(0, input);
    kernel->connect(1, output);
    kernel->set_argument(0, base);
    kernel->set_argument(1, base + 32'768);
    kernel->set_argument(2, 32'768);
    kernel->set_argument(3, 2);
    run(*kernel);
    return kernel->cycles();
  };
  CHECK(once(7) == once(7));
  CHECK(once(7) != once(8));
}

TEST_CASE("rtl: a stopped clock keeps its phase", "[rtl]") {
  const auto kernel = make_rtl_kernel("bandwidth", period);
  const auto edges = kernel->edges();
  const auto now = kernel->now();
  kernel->skip_to(now + 5 * period + 1);
  CHECK(kernel->now() == now + 6 * period);
  kernel->skip_to(now);
  CHECK(kernel->now() == now + 6 * period);
  CHECK(kernel->edges() == edges);
}

// How fast Verilator runs the RTL kernels: clock cycles per wall second, best of five.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "isthmus/card/rtl.hpp"

using isthmus::card::LinkedMemory;
using isthmus::card::LinkedMemoryOptions;
using isthmus::card::make_rtl_kernel;
using isthmus::card::Time;

namespace {

constexpr Time period = 4'000'000;  // 250 MHz
constexpr std::uint64_t base = std::uint64_t{1} << 32U;
constexpr std::uint64_t size = std::uint64_t{8} << 20U;
constexpr std::uint64_t iterations = 16;

struct Speed {
  double cycles_per_s;
  double beats_per_cycle;
};

Speed run(const std::string& name, Time latency) {
  std::vector<std::byte> bytes(2 * size, std::byte{1});
  const LinkedMemoryOptions options{.read_latency = latency, .write_latency = latency};
  LinkedMemory memory(base, bytes, options);
  LinkedMemory other(base, bytes, options);
  const auto kernel = make_rtl_kernel(name, period);
  LinkedMemory* const ports[] = {&memory, &other};
  for (std::size_t n = 0; n < kernel->masters(); ++n) {
    kernel->connect(n, *ports[n]);
    kernel->set_argument(n, base + n * size);
  }
  const std::uint64_t beats = size / 64 * iterations;
  kernel->set_argument(kernel->masters(), size);
  kernel->set_argument(kernel->masters() + 1, iterations);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t first = kernel->edges();
  kernel->start();
  while (!kernel->done()) {
    kernel->clock();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {static_cast<double>(kernel->edges() - first) / took.count(),
          static_cast<double>(beats) / static_cast<double>(kernel->cycles())};
}

}  // namespace

int main() {
  std::printf("| kernel | latency, cycles | M cycles/s | beats a cycle and direction |\n");
  std::printf("|---|---|---|---|\n");
  for (const char* name : {"read_bandwidth", "write_bandwidth", "bandwidth"}) {
    for (const int cycles : {0, 300}) {
      Speed best{};
      for (int n = 0; n < 5; ++n) {
        const Speed speed = run(name, cycles * period);
        best = speed.cycles_per_s > best.cycles_per_s ? speed : best;
      }
      std::printf("| %s | %d | %.1f | %.3f |\n", name, cycles, best.cycles_per_s / 1e6,
                  best.beats_per_cycle);
    }
  }
}

// null_google_benchmark LINKS ...: the same work timed by google/benchmark.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "spin.hpp"

int main(int count, char** arguments) {
  const std::uint64_t links = std::strtoull(arguments[1], nullptr, 10);
  benchmark::RegisterBenchmark("spin", [links](benchmark::State& state) {
    std::uint64_t value = links;
    for (auto _ : state) {
      value = isthmus::spin(links, value);
    }
  });
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}

// null_loop LINKS SECONDS: median seconds of one call of the null backend's work.
#include <cstdio>
#include <cstdlib>

#include "median.hpp"
#include "spin.hpp"

int main(int, char** arguments) {
  const std::uint64_t links = std::strtoull(arguments[1], nullptr, 10);
  const double seconds = std::atof(arguments[2]);
  // Enough calls between two clock readings that the clock is below 0.1 % of them.
  const std::uint64_t calls = 1 + 50'000 / (links + 1);
  std::uint64_t value = links;
  std::vector<double> samples;
  for (const double begin = now(); now() - begin < seconds || samples.size() < 5;) {
    const double before = now();
    for (std::uint64_t i = 0; i < calls; ++i) {
      value = isthmus::spin(links, value);
    }
    samples.push_back((now() - before) / static_cast<double>(calls));
  }
  std::printf("%.9e\n", median(samples));
}

// card_log KEY=VALUE ...: the emulated card of these parameters runs what AMD's host memory example
// logged: 1024 sweeps of three kernels over 4 KiB to 256 MiB. Prints kernel, size and bytes a
// second.
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "isthmus/card/card.hpp"

namespace {

using namespace isthmus::card;

constexpr std::int64_t iterations = 1024;
constexpr std::size_t smallest = std::size_t{4} << 10U;
constexpr std::size_t largest = std::size_t{256} << 20U;
constexpr double femtoseconds = 1e-15;

void print(const Parameters& parameters) {
  Card card(Board::from(parameters));
  const Pages input = card.pinned(largest);
  const Pages output = card.pinned(largest);
  for (std::size_t bytes = smallest; bytes <= largest; bytes *= 2) {
    for (const auto& [name, kernel] :
         {std::pair{"read", Kernel::read_bandwidth}, std::pair{"write", Kernel::write_bandwidth},
          std::pair{"copy", Kernel::bandwidth}}) {
      card.reset();
      const KernelTime took = card.run_kernel({.kernel = kernel,
                                               .target = Target::host,
                                               .bytes = bytes,
                                               .iterations = iterations,
                                               .host_input = input.data(),
                                               .host_output = output.data(),
                                               .inputs = {},
                                               .output = nullptr});
      const double moved =
          static_cast<double>(bytes) * iterations * (kernel == Kernel::bandwidth ? 2 : 1);
      std::printf("%s,%zu,%.9g\n", name, bytes,
                  moved / (static_cast<double>(took.total) * femtoseconds));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    Parameters parameters;
    for (const std::string text :
         std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
      const std::size_t equals = text.find('=');
      parameters[text.substr(0, equals)] = text.substr(equals + 1);
    }
    print(parameters);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "card_log: %s\n", error.what());
    return 1;
  }
}

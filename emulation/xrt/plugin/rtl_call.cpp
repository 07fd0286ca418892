// Runs a verilated kernel: writes its registers, starts it, serves its masters from the card's
// memory at that memory's latency, and counts the clocks to its end.
#include "rtl_call.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include "isthmus/card/kernel_plugin.h"

namespace isthmus::card::plugin {
namespace {

constexpr std::uint32_t start_bit = 1;
constexpr std::uint32_t done_bit = 2;
constexpr double femtoseconds = 1e15;
/// Clocks without an access to memory, after which a kernel counts as hung.
constexpr std::uint64_t patience = 10'000'000;

class Run {
 public:
  Run(isthmus_kernel_run& run, BenchKernel& kernel) : run_(run), kernel_(kernel) {}

  void call() {
    const auto latency = static_cast<Time>(run_.memory_latency_s * femtoseconds);
    std::deque<LinkedMemory> memories;
    for (std::size_t n = 0; n < kernel_.masters(); ++n) {
      const Contents contents{
          .read = [this](std::uint64_t from, std::span<std::byte> to) { return read(from, to); },
          .write = [this](std::uint64_t to, std::span<const std::byte> from,
                          std::uint64_t strobes) { return write(to, from, strobes); }};
      kernel_.connect(
          n, memories.emplace_back(
                 contents, LinkedMemoryOptions{.read_latency = latency, .write_latency = latency}));
    }
    for (const auto& [offset, bytes] : registers()) {
      for (std::uint32_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
        std::uint32_t word = 0;
        std::memcpy(&word, run_.registers + offset + at,
                    std::min<std::size_t>(sizeof(word), bytes - at));
        kernel_.write_register(offset + at, word, 0xF);
      }
    }
    const std::uint64_t began = latest_ = kernel_.edges();
    kernel_.write_register(0, start_bit, 0xF);
    while ((kernel_.read_register(0, nullptr) & done_bit) == 0) {
      if (kernel_.edges() - latest_ > patience) {
        throw std::runtime_error(
            "no end (bit 1 of the register at 0) and no access to memory for " +
            std::to_string(patience) + " clocks");
      }
    }
    run_.cycles = kernel_.edges() - began;
  }

 private:
  /// Of a beat that lies in a buffer only in part the rest is 0, as nobody may count on it.
  bool read(std::uint64_t from, std::span<std::byte> to) {
    latest_ = kernel_.edges();
    const std::uint64_t there = run_.bytes_at(run_.card, from);
    const std::size_t part =
        there == 0 ? to.size() : std::min(to.size(), static_cast<std::size_t>(there));
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(part), to.end(), std::byte{0});
    check(run_.read(run_.card, from, to.data(), part));
    return true;
  }

  bool write(std::uint64_t to, std::span<const std::byte> from, std::uint64_t strobes) {
    latest_ = kernel_.edges();
    const auto written = [strobes](std::size_t n) { return ((strobes >> n) & 1U) != 0; };
    for (std::size_t begin = 0; begin < from.size();) {
      std::size_t end = begin;
      while (end < from.size() && written(end)) {
        ++end;
      }
      if (end > begin) {
        check(run_.write(run_.card, to + begin, from.data() + begin, end - begin));
      }
      begin = end + 1;
    }
    return true;
  }

  /// The card knows what went wrong, and says so.
  static void check(int failed) {
    if (failed != 0) {
      throw std::runtime_error("");
    }
  }

  isthmus_kernel_run& run_;
  BenchKernel& kernel_;
  std::uint64_t latest_ = 0;
};

}  // namespace
}  // namespace isthmus::card::plugin

extern "C" __attribute__((visibility("default"))) int isthmus_kernel(isthmus_kernel_run* run) {
  using namespace isthmus::card;
  try {
    // Kept: what a module remembers from run to run, it remembers here.
    static const auto kernel =
        plugin::make_kernel(static_cast<Time>(plugin::femtoseconds / run->clock_hz));
    plugin::Run(*run, *kernel).call();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(run->error, sizeof(run->error), "%s", error.what());
    return 1;
  }
}

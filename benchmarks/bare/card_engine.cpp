// card_engine: events a second of the emulated card's kernel, and simulated bytes of DMA per second
// of wall time with nothing skipped. Medians of five runs.
#include <cstdio>
#include <memory>
#include <vector>

#include "../../card/tests/u250.hpp"
#include "isthmus/card/card.hpp"
#include "median.hpp"

namespace {

using namespace isthmus::card;

constexpr int runs = 5;

/// Answers every event with one to come, so that as many stay pending.
class Hopper final : public Actor {
 public:
  explicit Hopper(Simulator& simulator) : simulator_(&simulator) {}
  void handle(std::uint64_t payload) override {
    if (left_ > 0) {
      --left_;
      const std::uint64_t next = payload * 0x9E3779B97F4A7C15U + 1;
      simulator_->schedule(simulator_->now() + 1 + static_cast<Time>(next >> 44U), *this, next);
    }
  }
  void allow(std::uint64_t events) { left_ = events; }

 private:
  Simulator* simulator_;
  std::uint64_t left_ = 0;
};

double events_per_second(std::uint64_t pending) {
  constexpr std::uint64_t events = 5'000'000;
  std::vector<double> rates;
  for (int i = 0; i < runs; ++i) {
    Simulator simulator;
    Hopper hopper(simulator);
    hopper.allow(events);
    for (std::uint64_t k = 0; k < pending; ++k) {
      simulator.schedule(static_cast<Time>(k), hopper, k);
    }
    const double begin = now();
    simulator.run();
    rates.push_back(static_cast<double>(simulator.events()) / (now() - begin));
  }
  return median(rates);
}

void transfers(const char* name, const std::vector<Direction>& directions) {
  constexpr std::size_t bytes = std::size_t{64} << 20U;
  Card card(u250_with({{"dma.tags", "64"}, {"dma.engines", "2"}}));
  card.set_fast_forward(false);
  std::vector<std::vector<std::byte>> hosts;
  std::vector<std::unique_ptr<CardBuffer>> devices;
  std::vector<Transfer> all;
  for (const Direction direction : directions) {
    hosts.emplace_back(bytes);
    devices.push_back(card.allocate(devices.size(), bytes));
    all.push_back({direction, hosts.back().data(), devices.back().get(), 0, bytes});
  }
  card.transfer(all);  // the pages are there from now on
  std::vector<double> rates;
  std::vector<double> events;
  for (int i = 0; i < runs; ++i) {
    card.reset();
    const std::uint64_t before = card.events();
    const double begin = now();
    card.transfer(all);
    const double seconds = now() - begin;
    rates.push_back(static_cast<double>(bytes * all.size()) / seconds / 1e9);
    events.push_back(static_cast<double>(card.events() - before) / seconds / 1e6);
  }
  std::printf("%-16s %6.2f GB/s  %6.1f M events/s\n", name, median(rates), median(events));
}

}  // namespace

int main() {
  for (const std::uint64_t pending : {1, 64, 1024}) {
    std::printf("%4llu pending     %6.1f M events/s\n", static_cast<unsigned long long>(pending),
                events_per_second(pending) / 1e6);
  }
  transfers("h2d", {Direction::h2d});
  transfers("d2h", {Direction::d2h});
  transfers("both", {Direction::h2d, Direction::d2h});
}

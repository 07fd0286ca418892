#include "loop_cycles.hpp"

#include <algorithm>

namespace isthmus::card::plugin {

void Cycles::add(const Cycles& other) {
  least += other.least;
  most += other.most;
  if (other.longest_cycles > longest_cycles) {
    longest = other.longest;
    spared = other.spared;
    longest_cycles = other.longest_cycles;
  }
}

void Counts::note(unsigned number, std::uint64_t times) {
  if (number < entries_.size()) {
    ++entries_[number].begun;
    entries_[number].times += times;
  }
}

Counts& Counts::inner(unsigned number) {
  std::shared_ptr<Counts>& found = inner_[number];
  if (!found) {
    found = std::make_shared<Counts>();
    found->begin();
  }
  return *found;
}

Cycles Counts::cycles() const {
  Cycles all;
  for (unsigned number = 0; number < entries_.size(); ++number) {
    all.add(loop(number));
  }
  for (const auto& [number, region] : regions()) {
    all.add(region);
  }
  return all;
}

Cycles Counts::loop(unsigned number) const {
  if (number >= entries_.size()) {
    return {};
  }
  const isthmus_loop_cost& cost = isthmus_estimated.costs[number];
  const auto begun = static_cast<double>(entries_[number].begun);
  const auto times = static_cast<double>(entries_[number].times);
  Cycles loop;
  loop.least = begun * cost.entry_least + times * cost.iteration_least;
  loop.most = begun * cost.entry_most + times * cost.iteration_most;
  loop.longest = number;
  loop.longest_cycles = loop.most;
  // At the end the partial sums are added, one after the other.
  const double adding = begun * cost.partial_sums * cost.partial_sums;
  const double iterations = times * (cost.iteration_least + cost.iteration_most) / 2;
  loop.spared = std::max(0.0, cost.spared * iterations - adding);
  return loop;
}

/// Processes of a region work at once. Those that pass whole arrays wait for one another in the
/// region's first run.
std::map<int, Cycles> Counts::regions() const {
  struct Region {
    Cycles sum;
    Cycles most;
    double runs = 1;
    bool streamed = false;
  };
  std::map<int, Region> found;
  for (const auto& [number, process] : inner_) {
    const isthmus_loop_cost& cost = isthmus_estimated.costs[number];
    Region& region = found[cost.region];
    const Cycles cycles = process->cycles();
    region.sum.add(cycles);
    if (cycles.most >= region.most.most) {
      region.most = cycles;
    }
    region.runs = std::max(region.runs, static_cast<double>(process->entries_[number].begun));
    region.streamed = cost.streamed;
  }
  std::map<int, Cycles> all;
  for (const auto& [number, region] : found) {
    Cycles cycles = region.most;
    if (!region.streamed) {
      const double later = (region.runs - 1) / region.runs;
      cycles.least = later * region.most.least + region.sum.least / region.runs;
      cycles.most = later * region.most.most + region.sum.most / region.runs;
    }
    all[number] = cycles;
  }
  return all;
}

std::string bound_of(const Cycles& cycles) {
  if (isthmus_estimated.count == 0 || cycles.longest == 0) {
    return "";
  }
  const isthmus_loop_cost& cost = isthmus_estimated.costs[cycles.longest];
  const std::string why = cost.why;
  return "its loop at line " + std::to_string(cost.line) + (why.empty() ? "" : ", " + why);
}

}  // namespace isthmus::card::plugin

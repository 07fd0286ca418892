#include "loop_cycles.hpp"

#include <algorithm>

namespace isthmus::card::plugin {

void Cycles::add(const Cycles& other) {
  least += other.least;
  most += other.most;
  if (other.longest_cycles > longest_cycles) {
    longest = other.longest;
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

Cycles Counts::cycles(const isthmus_loop_cost* costs) const {
  Cycles all;
  for (unsigned number = 0; number < entries_.size(); ++number) {
    all.add(loop(costs, number));
  }
  for (const auto& [number, region] : regions(costs)) {
    all.add(region);
  }
  return all;
}

double Counts::trips(unsigned number) const {
  if (number >= entries_.size() || entries_[number].begun == 0) {
    return 0;
  }
  return static_cast<double>(entries_[number].times) / static_cast<double>(entries_[number].begun);
}

Cycles Counts::loop(const isthmus_loop_cost* costs, unsigned number) const {
  const isthmus_loop_cost& cost = costs[number];
  const auto begun = static_cast<double>(entries_[number].begun);
  const auto times = static_cast<double>(entries_[number].times);
  Cycles loop;
  loop.least = begun * cost.entry_least + times * cost.iteration_least;
  loop.most = begun * cost.entry_most + times * cost.iteration_most;
  loop.longest = number;
  loop.longest_cycles = loop.most;
  return loop;
}

/// Returns the cycles of each DATAFLOW region, whose processes work at once. In a region's first
/// run a process that needs a whole array begins when the array's writer has ended.
std::map<int, Cycles> Counts::regions(const isthmus_loop_cost* costs) const {
  struct Region {
    Cycles first;
    Cycles longest;
    double runs = 1;
  };
  std::map<int, Region> found;
  std::map<unsigned, Cycles> ends;
  for (const auto& [number, process] : inner_) {
    const isthmus_loop_cost& cost = costs[number];
    Region& region = found[cost.region];
    const Cycles cycles = process->cycles(costs);
    if (cycles.most >= region.longest.most) {
      region.longest = cycles;
    }
    const double runs = std::max(1.0, static_cast<double>(process->entries_[number].begun));
    region.runs = std::max(region.runs, runs);
    Cycles& end = ends[number];
    for (const unsigned* after = cost.after; after != nullptr && *after != 0; ++after) {
      end.least = std::max(end.least, ends[*after].least);
      end.most = std::max(end.most, ends[*after].most);
    }
    end.least += cycles.least / runs;
    end.most += cycles.most / runs;
    region.first.least = std::max(region.first.least, end.least);
    region.first.most = std::max(region.first.most, end.most);
  }
  std::map<int, Cycles> all;
  for (const auto& [number, region] : found) {
    const double later = (region.runs - 1) / region.runs;
    Cycles cycles = region.longest;
    cycles.least = later * region.longest.least + region.first.least;
    cycles.most = later * region.longest.most + region.first.most;
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

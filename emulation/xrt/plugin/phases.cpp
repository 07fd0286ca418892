#include "phases.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "hls/isthmus_turns.h"

namespace isthmus::card::plugin {

void Phases::begin(std::vector<Window>& windows) {
  *this = Phases();
  windows_ = &windows;
  all_.begin();
  outer_.counts = &all_;
  hls::isthmus_trail = &outer_;
}

Phases::Moved Phases::moved() const {
  Moved found;
  found.reserve(windows_->size());
  for (const Window& window : *windows_) {
    found.push_back({.read = window.reads.bytes, .written = window.writes.bytes});
  }
  return found;
}

void Phases::begin_phase(unsigned number) {
  if (phase_ != none) {
    return;
  }
  phase_ = number;
  before_ = moved();
  const auto [found, is_first] = phases_.try_emplace(number);
  if (is_first) {
    found->second.counts.begin();
  }
  outer_.counts = &found->second.counts;
}

void Phases::end_phase(unsigned number, std::uint64_t times) {
  if (phase_ != number) {
    return;
  }
  phase_ = none;
  outer_.counts = &all_;
  Moved now = moved();
  for (std::size_t n = 0; n < now.size(); ++n) {
    now[n].read -= before_[n].read;
    now[n].written -= before_[n].written;
  }
  std::map<Moved, Alike>& runs = phases_[number].runs;
  Alike& alike = runs[now];
  ++alike.runs;
  alike.times += times;
}

Trail& Phases::trail() { return *static_cast<Trail*>(hls::isthmus_trail); }

void Phases::begin_loop(unsigned number) {
  trail().inside.push_back(number);
  if (isthmus_estimated.costs[number].pipelined) {
    begin_phase(number);
  }
}

void Phases::end_loop(unsigned number, std::uint64_t times) {
  std::vector<unsigned>& inside = trail().inside;
  inside.pop_back();
  const auto is_pipelined = [](unsigned one) { return isthmus_estimated.costs[one].pipelined; };
  const bool ends = is_pipelined(number) && std::ranges::none_of(inside, is_pipelined);
  if (ends && std::uncaught_exceptions() == 0) {
    hls::isthmus_turns::empty_pipeline();
  }
  trail().counts->note(number, times);
  end_phase(number, times);
}

std::unique_ptr<Trail> Phases::begin_process(unsigned number) {
  begin_phase(static_cast<unsigned>(isthmus_estimated.costs[number].region));
  Counts& counts = trail().counts->inner(number);
  counts.note(number, 1);
  return std::make_unique<Trail>(Trail{.counts = &counts, .inside = {number}, .is_process = true});
}

void Phases::end_region() {
  if (!trail().is_process) {  // the region is not within another region
    end_phase(phase_, 1);
  }
}

std::size_t Phases::stages() {
  std::size_t most = 0;
  for (const unsigned number : trail().inside) {
    most = std::max<std::size_t>(most, isthmus_estimated.costs[number].ahead);
  }
  return most;
}

void Phases::finish(isthmus_kernel_run& run) const {
  Phase rest{.counts = all_, .runs = {}};
  Cycles all = all_.cycles();
  Moved left = moved();
  for (const auto& [number, phase] : phases_) {
    all.add(phase.counts.cycles());
    report(run, phase, left);
  }
  rest.runs[left] = {.runs = 1, .times = 1};
  report(run, rest, left);
  std::snprintf(&run.bound[0], sizeof(run.bound), "%s", bound_of(all).c_str());
  run.partial_sums = all.spared > 0 ? isthmus_estimated.costs[all.longest].partial_sums : 0;
  run.spared_cycles = all.spared;
}

/// Reports a phase's runs to the card, and subtracts their moved bytes from `left`.
void Phases::report(isthmus_kernel_run& run, const Phase& phase, Moved& left) const {
  const Cycles cycles = phase.counts.cycles();
  double times = 0;
  for (const auto& [moved, alike] : phase.runs) {
    times += static_cast<double>(alike.times);
  }
  for (const auto& [moved, alike] : phase.runs) {
    for (std::size_t n = 0; n < moved.size(); ++n) {
      const std::uint64_t address = (*windows_)[n].card_address;
      left[n].read -= moved[n].read * alike.runs;
      left[n].written -= moved[n].written * alike.runs;
      if (moved[n].read > 0) {
        check(run.moved(run.card, address, moved[n].read, 0));
      }
      if (moved[n].written > 0) {
        check(run.moved(run.card, address, moved[n].written, 1));
      }
    }
    const double share = times > 0 ? static_cast<double>(alike.times) / times
                                   : 1 / static_cast<double>(phase.runs.size());
    check(run.phases(run.card, alike.runs, share * cycles.least, share * cycles.likely(),
                     share * cycles.most));
  }
}

}  // namespace isthmus::card::plugin

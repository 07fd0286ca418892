#include "phases.hpp"

#include <algorithm>
#include <cstdio>

#include "hls/isthmus_turns.h"

namespace isthmus::card::plugin {
namespace {

/// Stages of a pipeline that nobody has estimated: more than most have.
constexpr std::size_t unknown_ahead = 256;

}  // namespace

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
  if (phase_ == none) {
    phase_ = number;
    before_ = moved();
  }
}

void Phases::end_phase(unsigned number) {
  if (phase_ != number) {
    return;
  }
  phase_ = none;
  const Moved now = moved();
  Moved& sum = phases_[number];
  sum.resize(now.size());
  for (std::size_t n = 0; n < now.size(); ++n) {
    sum[n].read += now[n].read - before_[n].read;
    sum[n].written += now[n].written - before_[n].written;
  }
}

Trail& Phases::trail() { return *static_cast<Trail*>(hls::isthmus_trail); }

void Phases::begin_loop(unsigned number) {
  trail().inside.push_back(number);
  if (isthmus_estimated.costs[number].pipelined) {
    begin_phase(number);
  }
}

void Phases::end_loop(unsigned number, std::uint64_t times) {
  trail().inside.pop_back();
  trail().counts->note(number, times);
  end_phase(number);
}

std::unique_ptr<Trail> Phases::begin_process(unsigned number) {
  if (isthmus_estimated.count == 0) {
    return nullptr;
  }
  begin_phase(static_cast<unsigned>(isthmus_estimated.costs[number].region));
  Counts& counts = trail().counts->inner(number);
  counts.note(number, 1);
  return std::make_unique<Trail>(Trail{.counts = &counts, .inside = {number}, .is_process = true});
}

void Phases::end_region() {
  if (isthmus_estimated.count > 0 && !trail().is_process) {  // of a region that no other holds
    end_phase(phase_);
  }
}

std::size_t Phases::ahead() {
  if (isthmus_estimated.count == 0) {
    return unknown_ahead;
  }
  std::size_t most = 0;
  for (const unsigned number : trail().inside) {
    most = std::max<std::size_t>(most, isthmus_estimated.costs[number].ahead);
  }
  return most;
}

void Phases::finish(isthmus_kernel_run& run) const {
  const Cycles all = all_.cycles();
  Cycles rest = all;
  Moved left = moved();
  const auto tell = [&](const Moved& part, const Cycles& cycles) {
    for (std::size_t n = 0; n < part.size(); ++n) {
      const std::uint64_t address = (*windows_)[n].card_address;
      if (part[n].read > 0) {
        check(run.moved(run.card, address, part[n].read, 0));
      }
      if (part[n].written > 0) {
        check(run.moved(run.card, address, part[n].written, 1));
      }
    }
    check(run.phase(run.card, cycles.least, cycles.likely(), cycles.most));
  };
  for (const auto& [number, part] : phases_) {
    const Cycles cycles = all_.part(number);
    rest.remove(cycles);
    for (std::size_t n = 0; n < part.size(); ++n) {
      left[n].read -= part[n].read;
      left[n].written -= part[n].written;
    }
    tell(part, cycles);
  }
  tell(left, rest);
  std::snprintf(&run.bound[0], sizeof(run.bound), "%s", bound_of(all).c_str());
}

}  // namespace isthmus::card::plugin

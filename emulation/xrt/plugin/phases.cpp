#include "phases.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "hls/isthmus_turns.h"

namespace isthmus::card::plugin {

namespace {

/// Most iterations of a loop that a change unrolls (assumed): HLS would need as many operators.
constexpr double most_unrolled = 128;
/// Largest local array that a change may need: a ZCU104 has 1.4 MB of block RAM (DS891).
constexpr std::uint64_t most_local_bytes = std::uint64_t{1} << 20U;
/// Least ratio of a run's bytes before and after a change that reads each word once (assumed).
constexpr std::uint64_t least_repeats = 2;

bool names(const char* const* arguments, std::string_view name) {
  while (*arguments != nullptr && *arguments != name) {
    ++arguments;
  }
  return *arguments != nullptr;
}

std::uint64_t share_of(std::uint64_t bytes, std::uint64_t after, std::uint64_t before) {
  const double share = before > 0 ? static_cast<double>(after) / static_cast<double>(before) : 1;
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

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

double Phases::Phase::share(const Alike& alike) const {
  double times = 0;
  for (const auto& [moved, some] : runs) {
    times += static_cast<double>(some.times);
  }
  return times > 0 ? static_cast<double>(alike.times) / times
                   : 1 / static_cast<double>(runs.size());
}

std::uint64_t Phases::total(const Moved& moved) {
  std::uint64_t bytes = 0;
  for (const Traffic& one : moved) {
    bytes += one.read + one.written;
  }
  return bytes;
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
  if (run.change != nullptr) {
    for (const isthmus_loop_change& change :
         std::span(isthmus_estimated.changes, isthmus_estimated.change_count)) {
      report_change(run, change);
    }
  }
}

void Phases::report_moved(isthmus_kernel_run& run, const Moved& moved) const {
  for (std::size_t n = 0; n < moved.size(); ++n) {
    const std::uint64_t address = (*windows_)[n].card_address;
    if (moved[n].read > 0) {
      check(run.moved(run.card, address, moved[n].read, 0));
    }
    if (moved[n].written > 0) {
      check(run.moved(run.card, address, moved[n].written, 1));
    }
  }
}

/// Reports a phase's runs to the card, and subtracts their moved bytes from `left`.
void Phases::report(isthmus_kernel_run& run, const Phase& phase, Moved& left) const {
  const Cycles cycles = phase.counts.cycles();
  for (const auto& [moved, alike] : phase.runs) {
    for (std::size_t n = 0; n < moved.size(); ++n) {
      left[n].read -= moved[n].read * alike.runs;
      left[n].written -= moved[n].written * alike.runs;
    }
    report_moved(run, moved);
    const double share = phase.share(alike);
    check(run.phases(run.card, alike.runs, share * cycles.least, share * cycles.likely(),
                     share * cycles.most));
  }
}

/// Returns what the run moves with a change of the source; nothing where the change would need a
/// large local array, unroll a long loop, or spare no access.
std::optional<Phases::Changed> Phases::with_change(const isthmus_loop_change& change) const {
  if (change.unrolled != 0) {
    const auto of = phases_.find(change.unrolled);
    if (of == phases_.end() || of->second.counts.trips(change.unrolled) > most_unrolled) {
      return std::nullopt;
    }
  }
  const Moved whole = moved();
  Changed with{.moved = whole, .copied_in = Moved(whole.size()), .copied_out = Moved(whole.size())};
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Window& window = (*windows_)[n];
    if (!names(change.arguments, window.argument->name)) {
      continue;
    }
    with.moved[n] = {.read = std::min(whole[n].read, window.read.all().bytes()),
                     .written = std::min(whole[n].written, window.written.bytes())};
    if (change.moves == isthmus_moves::before_and_after) {
      // The data of another run may touch elements that those of this run do not.
      if (window.bytes == 0 || window.bytes > most_local_bytes) {
        return std::nullopt;
      }
      with.copied_in[n].read = window.bytes;
      with.copied_out[n].written = whole[n].written > 0 ? window.bytes : 0;
      with.moved[n] = {};
      with.copied_elements +=
          static_cast<double>(window.bytes) / static_cast<double>(window.argument->element_bytes);
    }
  }
  const bool reads_once =
      change.moves == isthmus_moves::once || change.moves == isthmus_moves::in_one_loop;
  if (reads_once && total(whole) < least_repeats * total(with.moved)) {
    return std::nullopt;
  }
  return with;
}

/// Reports the phases that the run would have with a change of the source.
void Phases::report_change(isthmus_kernel_run& run, const isthmus_loop_change& change) const {
  const std::optional<Changed> with = with_change(change);
  if (!with) {
    return;
  }
  const auto elements = static_cast<std::uint64_t>(with->copied_elements);
  check(run.change(run.card, change.kind, change.name, change.count > 0 ? change.count : elements));
  if (change.moves == isthmus_moves::in_one_loop) {
    double cycles = all_.cycles(change.costs).likely();
    for (const auto& [number, phase] : phases_) {
      cycles += phase.counts.cycles(change.costs).likely();
    }
    report_moved(run, with->moved);
    check(run.changed_phases(run.card, 1, cycles));
    return;
  }
  report_phases(run, change, with->moved);
  for (const Moved& copied : {std::cref(with->copied_in), std::cref(with->copied_out)}) {
    if (total(copied) > 0) {
      report_moved(run, copied);
      check(run.changed_phases(run.card, 1, with->copied_elements));
    }
  }
}

/// Reports each phase with a change of the source, after which the run moves `once`.
void Phases::report_phases(isthmus_kernel_run& run, const isthmus_loop_change& change,
                           const Moved& once) const {
  const Moved whole = moved();
  Moved left = once;
  for (const auto& [number, phase] : phases_) {
    const double cycles = phase.counts.cycles(change.costs).likely();
    for (const auto& [moved, alike] : phase.runs) {
      Moved now(moved.size());
      for (std::size_t n = 0; n < moved.size(); ++n) {
        now[n] = {.read = share_of(moved[n].read, once[n].read, whole[n].read),
                  .written = share_of(moved[n].written, once[n].written, whole[n].written)};
        left[n].read -= std::min(left[n].read, now[n].read * alike.runs);
        left[n].written -= std::min(left[n].written, now[n].written * alike.runs);
      }
      report_moved(run, now);
      check(run.changed_phases(run.card, alike.runs, phase.share(alike) * cycles));
    }
  }
  report_moved(run, left);
  check(run.changed_phases(run.card, 1, all_.cycles(change.costs).likely()));
}

}  // namespace isthmus::card::plugin

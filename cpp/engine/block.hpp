// What `Series` and `JointSeries` share: the course of a visit, notes of wrong data, longer
// batches.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "isthmus/engine.hpp"
#include "probe.hpp"

namespace isthmus {

double seconds_since(Ticks begin);

/// Marks a block as wrong: `when` names the repetition, `known` is the device's explanation or "".
void note_fault(Block& block, const std::string& known, const char* when);

template <class AnyOperation>
void note(Block& block, const AnyOperation& operation, bool arrived, const char* when) {
  if (!arrived) {
    note_fault(block, operation.fault(), when);
  }
}

/// Returns the next batch to try, in repetitions, after one that took `took` of `aim` seconds.
std::uint64_t longer_batch(std::uint64_t batch, double took, double aim);

template <class AnyOperation>
VisitedSeries<AnyOperation>::VisitedSeries(Device& device, OperationSpec spec,
                                           const SeriesOptions& options)
    : device_(&device),
      spec_(std::move(spec)),
      options_(options),
      clock_(&HostClock::instance()),
      progress_(options) {}

template <class AnyOperation>
bool VisitedSeries<AnyOperation>::goes_on(const Progress::Visit& visit) {
  return progress_.goes_on(visit);
}

template <class AnyOperation>
Block VisitedSeries<AnyOperation>::measure(double most_seconds) {
  const Ticks begin = HostClock::raw_nanoseconds();
  const bool first = batch_ == 0;
  try {
    Block block = visit(begin, most_seconds);
    progress_.keep_visit(block.block_s);
    return block;
  } catch (...) {
    if (first) {
      batch_ = 0;  // calibrated by a visit that was discarded
    }
    progress_.drop_visit(seconds_since(begin));
    throw;
  }
}

template <class AnyOperation>
Block VisitedSeries<AnyOperation>::visit(Ticks begin, double most_seconds) {
  Block block;
  const Probe before = read_probe();
  const std::unique_ptr<AnyOperation> operation = open(block);
  if (device_->info().clock == ClockDomain::simulated) {
    sample_simulated(*operation, block);
  } else {
    verify(*operation, block, "first", !cold_taken_);
    cold_taken_ = true;
    if (batch_ == 0) {
      batch_ = calibrated(*operation);
    }
    block.setup_s = agreed(seconds_since(begin));
    bool more = progress_.state() == Progress::State::open;
    while (more) {
      sample_once(*operation, block);
      more = goes_on({.most_seconds = most_seconds,
                      .setup_s = block.setup_s,
                      .sampling_s = seconds_since(begin) - block.setup_s,
                      .samples = block.parts.front().ticks.size(),
                      .resolution_s = clock_->info().resolution_s / static_cast<double>(batch_)});
    }
    verify(*operation, block, "last", false);
    block.batch = batch_;
  }
  block.probe = read_probe() - before;
  close(*operation, block);
  block.block_s = agreed(seconds_since(begin));
  block.state = state();
  return block;
}

}  // namespace isthmus

#include "isthmus/card/process/dataflow.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dataflow_run.hpp"

namespace isthmus::card::process {

Dataflow::Dataflow(const Description& description, double hertz)
    : description_(&description), clock_(Pace::of_rate(hertz)) {
  for (const StreamPlace& place : description.streams) {
    streams_.push_back(std::make_unique<Stream>(place));
    held_ += 2 * place.depth;  // each word is written once and read once
  }
}

Dataflow::~Dataflow() {
  gone_ = true;
  for (const auto& run : runs_) {
    while (!run->has_ended()) {
      run->resume();
    }
  }
}

void Dataflow::start(std::size_t unit, std::uint64_t now, std::uint32_t times, Body body) {
  for (const auto& run : runs_) {
    if (run->unit() != unit || run->has_ended()) {
      continue;
    }
    if (run->goes_on_after_end()) {
      run->stop_after_end();
      while (!run->has_ended()) {
        run->resume();
      }
      continue;
    }
    if (times == forever && run->is_forever()) {
      return;
    }
    throw KernelError(description_->units[unit].instance +
                      " is started again while it waits: " + run->waiting());
  }
  for (const auto& stream : streams_) {
    if (stream->place().consumer == unit) {
      stream->last_read_.reset();
    }
  }
  std::erase_if(runs_, [unit](const auto& run) { return run->unit() == unit; });
  runs_.push_back(std::make_unique<Run>(*this, unit, now, times, std::move(body)));
}

void Dataflow::stop(std::size_t unit) {
  if (Run* const run = latest_of(unit); run != nullptr && run->is_forever()) {
    run->stop();
  }
}

Dataflow::Run* Dataflow::latest_of(std::size_t unit) const {
  const auto found = std::ranges::find(runs_, unit, [](const auto& run) { return run->unit(); });
  return found == runs_.end() ? nullptr : found->get();
}

bool Dataflow::others_can_go_on(const Run& run) const {
  return std::ranges::any_of(
      runs_, [&run](const auto& other) { return other.get() != &run && other->can_go_on(); });
}

bool Dataflow::others_come_before(const Run& run) const {
  return std::ranges::any_of(
      runs_, [&run](const auto& other) { return other.get() != &run && other->comes_before(run); });
}

std::vector<Dataflow::Ended> Dataflow::advance() {
  ++moves_;  // lone runs' earlier moves no longer count
  std::vector<Run*> ended;
  for (bool any = true; any;) {
    any = false;
    for (const auto& run : runs_) {
      if (run->can_go_on()) {
        run->resume();
        any = true;
        if (run->tells_end()) {
          ended.push_back(run.get());
        }
      }
    }
  }
  // Each pass carries a delay from a run to the next one in a chain.
  for (std::size_t pass = 0; pass < runs_.size(); ++pass) {
    if (std::ranges::count_if(runs_, [](const auto& run) { return run->find_lateness(); }) == 0) {
      break;
    }
  }
  std::vector<Ended> results;
  std::ranges::transform(ended, std::back_inserter(results), &Run::ended);
  return results;
}

bool Dataflow::let_compute() {
  return std::ranges::count_if(runs_, [](const auto& run) { return run->compute(); }) > 0;
}

void Dataflow::end_lone_runs() {
  std::string all;
  bool ends = false;
  for (const auto& run : runs_) {
    if (run->is_alone() && run->goes_on_after_end()) {
      run->stop_after_end();
      ends = true;
    } else if (run->is_alone()) {
      all += (all.empty() ? "" : ", ") + description_->units[run->unit()].instance;
    }
  }
  if (!ends) {
    throw KernelError(
        "kernels that run forever pass words round without end, a million since any other moved "
        "one: " +
        all +
        "; a board goes on beside the program, here the program would wait for ever: let it start "
        "one of them, as often as that is needed");
  }
  ++moves_;
}

std::string Dataflow::waiting() const {
  std::string all;
  for (const auto& run : runs_) {
    if (const std::string text = run->waiting(); !text.empty()) {
      all += (all.empty() ? "" : ", ") + text;
    }
  }
  return all;
}

}  // namespace isthmus::card::process

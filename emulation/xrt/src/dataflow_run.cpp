#include "dataflow_run.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace isthmus::card::process {
namespace {

/// Most failed tries of a run that moves no word between them. The run then waits for one of the
/// streams, because a loop that tries until data come would never end.
constexpr std::uint64_t most_looks = 1'000'000;
/// Most words, beyond the capacity of all streams, that a run without end may move while no run
/// with an end moves a word. A ring of such runs would go on for ever.
constexpr std::uint64_t most_alone = 1'000'000;
constexpr std::uint64_t most_after_end = 100'000;

}  // namespace

StreamAnswer Dataflow::Run::read(std::uint32_t argument, const StreamWord& word,
                                 std::uint64_t cycles, StreamWait wait) {
  const Side side = connected(argument, true);
  return reach(side, cycles, wait,
               [&](std::uint64_t now) { side.stream->get(word, moves(wait), now); });
}

StreamAnswer Dataflow::Run::write(std::uint32_t argument, const StreamWord& word,
                                  std::uint64_t cycles, StreamWait wait) {
  const Side side = connected(argument, false);
  return reach(side, cycles, wait, [&](std::uint64_t now) {
    if (moves(wait)) {
      side.stream->put(word, now);
    }
  });
}

StreamAnswer Dataflow::Run::wait(std::span<const std::uint32_t> arguments, std::uint64_t cycles,
                                 bool computes) {
  std::vector<Side> sides;
  std::ranges::transform(arguments, std::back_inserter(sides),
                         [this](std::uint32_t argument) { return connected(argument); });
  now_ = after(cycles);
  by_clocks_ = true;
  computes_ = computes;
  wait_at(std::move(sides));
  computes_ = goes_on_computing_ = false;
  if (is_over()) {
    return StreamAnswer::gone;
  }
  std::optional<std::uint64_t> first;
  for (const Side& side : waits_at_) {
    if (side.is_ready()) {
      const std::uint64_t ready = ready_at(side);
      first = first && since(*first, ready) > 0 ? first : ready;
    }
  }
  if (!first) {
    return StreamAnswer::not_now;
  }
  wait_until(*first);
  return StreamAnswer::done;
}

bool Dataflow::Run::done(const KernelOutcome& outcome) {
  if (is_forever() || time_ + 1 < times_) {
    return false;  // a kernel that runs forever starts its next run at once
  }
  count(outcome);
  memory_ = 0;  // words after the end are as late as the run was
  done_at_ = now_;
  free_ = true;
  return true;
}

void Dataflow::Run::call() {
  try {
    for (time_ = 0; is_forever() || time_ < times_; ++time_) {
      base_ = now_;
      moved_ = false;
      const KernelOutcome outcome = body_(*this);
      if (is_over() || done_at_) {
        return;
      }
      count(outcome);
      if (is_forever() &&
          !moved_) {  // the next run would move nothing either, before a stream is ready
        between_ = true;
        wait_for_asked();
        between_ = false;
        if (is_over()) {
          return;
        }
      }
    }
  } catch (const std::exception&) {
    if (!is_over()) {  // if the run is over, the exception only ends the function
      throw;
    }
  }
}

void Dataflow::Run::count(const KernelOutcome& outcome) {
  now_ = later(now_, base_ + static_cast<std::uint64_t>(outcome.logic));
  add_memory();
  memory_ = std::max<Time>(outcome.duration - outcome.logic, 0);
  late_ = memory_;
  outcome_ += outcome;
}

/// Adds the previous run's memory time to this run's time. It is added at the first access to a
/// stream: until then the kernels that follow are as late as in the previous run.
void Dataflow::Run::add_memory() {
  if (const auto memory = static_cast<std::uint64_t>(std::exchange(memory_, 0)); memory > 0) {
    base_ += memory;
    now_ += memory;
    late_ = 0;
  }
}

std::string Dataflow::Run::waiting() const {
  const std::string& instance = flow_->description_->units[unit_].instance;
  if (has_ended() || done_at_ || !waits_) {
    return "";
  }
  if (is_forever()) {
    return waits_at_.empty() ? instance + ", which runs forever, does nothing any more" : "";
  }
  std::string all;
  for (const Side& side : waits_at_) {
    all += (all.empty() ? instance + " waits for " : " or ") + (side.reads ? "data" : "room") +
           " on " + side.stream->place().name;
  }
  return all + (by_clocks_ ? " and is not done (bit 1 of its register at 0)" : "");
}

bool Dataflow::Run::find_lateness() {
  Time latest = late_;
  for (const auto& stream : flow_->streams_) {
    if (stream->place().consumer == unit_ && stream->last_read_) {
      const Run* const from = flow_->latest_of(stream->place().producer);
      const Time late = from == nullptr ? 0 : from->late_;
      latest = std::max(
          latest, late + flow_->clock_.of(1) + since(*stream->last_read_, stream->last_written_));
    }
  }
  return std::exchange(late_, latest) != latest;
}

Dataflow::Run::Side Dataflow::Run::connected(std::uint32_t argument, std::optional<bool> reads) {
  const Stream* other_way = nullptr;
  for (const auto& stream : flow_->streams_) {
    const StreamPlace& place = stream->place();
    const bool consumes = place.consumer == unit_ && place.consumer_argument == argument;
    const bool produces = place.producer == unit_ && place.producer_argument == argument;
    if (consumes && reads != false) {
      return {.stream = stream.get(), .reads = true};
    }
    if (produces && reads != true) {
      return {.stream = stream.get(), .reads = false};
    }
    other_way = consumes || produces ? stream.get() : other_way;
  }
  const bool as_input = reads.value_or(true);
  if (other_way != nullptr) {
    throw KernelError("stream " + other_way->place().name + ": " + other_way->end(!as_input) +
                      (as_input ? " is an input, it cannot be the producer"
                                : " is an output, it cannot be the consumer"));
  }
  throw KernelError("stream argument " + std::to_string(argument) + " of " +
                    flow_->description_->units[unit_].instance + ", which it " +
                    (as_input ? "reads" : "writes") +
                    ", is connected to nothing: see stream_connect in the description");
}

template <class Action>
StreamAnswer Dataflow::Run::reach(const Side& side, std::uint64_t cycles, StreamWait wait,
                                  const Action& action) {
  now_ = later(now_, after(cycles));
  asks_each_clock_ = wait == StreamWait::this_clock;
  if (!side.is_ready()) {
    if (wait == StreamWait::wait) {
      wait_at({side});
    } else if (looks_ >= most_looks) {
      ask(side);
      wait_for_asked();
    } else if (flow_->others_can_go_on(*this)) {
      let_others_run(side);
    }
  }
  // A stopped module still moves a word that it saw offered, because the word belongs to the clock
  // that it computes.
  if (flow_->gone_ || (stopped_ && (wait != StreamWait::try_now || !side.is_ready()))) {
    return StreamAnswer::gone;
  }
  if (!side.is_ready()) {
    if (!asks_each_clock_) {
      ++looks_;
      ask(side);
    }
    return StreamAnswer::not_now;
  }
  if (asks_each_clock_ && since(now_, ready_at(side)) > 0) {
    return StreamAnswer::not_now;
  }
  if (moves(wait)) {
    looks_ = 0;
    asked_.clear();
    moved_ = true;
    count_move();
  } else {
    std::erase(asked_, side);  // the side stays ready until this run moves a word
  }
  add_memory();
  wait_until(ready_at(side));
  action(now_);
  return StreamAnswer::done;
}

void Dataflow::Run::ask(const Side& side) {
  if (std::ranges::find(asked_, side) == asked_.end()) {
    asked_.push_back(side);
  }
}

void Dataflow::Run::wait_at(std::vector<Side> sides) {
  waits_at_ = std::move(sides);
  waits_ = true;
  coroutine_.pause();
  waits_ = false;
}

void Dataflow::Run::wait_for_asked() {
  looks_ = 0;
  wait_at(std::exchange(asked_, {}));
}

/// Lets each other run go on once. If this run asks at each clock, repeats that until no other run
/// can affect it.
void Dataflow::Run::let_others_run(const Side& side) {
  looks_at_ = side;
  do {
    coroutine_.pause();
  } while (asks_each_clock_ && !is_over() && !side.is_ready() && flow_->others_come_before(*this));
  looks_at_.reset();
}

void Dataflow::Run::count_move() {
  if (!free_) {
    ++flow_->moves_;
    return;
  }
  alone_ = is_alone() ? alone_ + 1 : 1;
  others_moves_ = flow_->moves_;
  if (alone_ > flow_->held_ + (done_at_ ? most_after_end : most_alone)) {
    flow_->end_lone_runs();
  }
}

/// Returns since when a side is ready; now, if it has always been.
std::uint64_t Dataflow::Run::ready_at(const Side& side) const {
  const auto ready = side.stream->since_when(side.reads);
  return !ready ? now_ : *ready + static_cast<std::uint64_t>(flow_->clock_.of(side.reads ? 1 : 0));
}

void Dataflow::Run::wait_until(std::uint64_t time) {
  if (const Time lasts = since(now_, time); lasts > 0) {
    base_ += static_cast<std::uint64_t>(lasts);
    now_ = time;
  }
}

}  // namespace isthmus::card::process

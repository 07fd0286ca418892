#include "isthmus/card/process/dataflow.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "stream.hpp"

namespace isthmus::card::process {
namespace {

/// How often a run that moves nothing may ask streams in vain before it waits for one of them: else
/// one that asks until something comes would ask for ever.
constexpr std::uint64_t most_looks = 1'000'000;

Time since(std::uint64_t begin, std::uint64_t end) { return static_cast<Time>(end - begin); }

std::uint64_t later(std::uint64_t one, std::uint64_t other) {
  return since(one, other) > 0 ? other : one;
}

}  // namespace

/// One run of a kernel, or of one that runs forever all of them.
class Dataflow::Run final : public StreamAccess {
 public:
  Run(Dataflow& flow, std::size_t unit, std::uint64_t now, std::uint32_t times, Body body)
      : flow_(&flow),
        unit_(unit),
        times_(times),
        free_(times == forever),
        body_(std::move(body)),
        began_(now),
        base_(now),
        coroutine_([this] { call(); }) {}

  StreamAnswer read(std::uint32_t argument, const StreamWord& word, std::uint64_t cycles,
                    StreamWait wait) override {
    const Side side = connected(argument, true);
    return reach(side, cycles, wait,
                 [&](std::uint64_t now) { side.stream->get(word, moves(wait), now); });
  }
  StreamAnswer write(std::uint32_t argument, const StreamWord& word, std::uint64_t cycles,
                     StreamWait wait) override {
    const Side side = connected(argument, false);
    return reach(side, cycles, wait, [&](std::uint64_t now) {
      if (moves(wait)) {
        side.stream->put(word, now);
      }
    });
  }
  StreamAnswer wait(std::span<const std::uint32_t> arguments, std::uint64_t cycles) override {
    std::vector<Side> sides;
    std::ranges::transform(arguments, std::back_inserter(sides),
                           [this](std::uint32_t argument) { return connected(argument); });
    now_ = after(cycles);
    wait_at(std::move(sides));
    if (flow_->gone_) {
      return StreamAnswer::gone;
    }
    std::optional<std::uint64_t> first;
    for (const Side& side : waits_at_) {
      if (side.is_ready()) {
        const std::uint64_t ready = ready_at(side);
        first = first && since(*first, ready) > 0 ? first : ready;
      }
    }
    wait_until(first.value_or(now_));
    return StreamAnswer::done;
  }

  [[nodiscard]] bool can_go_on() const {
    return !coroutine_.has_ended() &&
           (!waits_ || flow_->gone_ || std::ranges::any_of(waits_at_, &Side::is_ready));
  }
  /// Whether what it does next can concern `other` at the time that that has come to.
  [[nodiscard]] bool comes_before(const Run& other) const {
    return can_go_on() && (!looks_at_ || looks_at_->is_ready() ||
                           (asks_each_clock_ && since(now_, other.now_) > 0));
  }
  /// Of one that runs forever: what goes on is its last.
  void stop() {
    times_ = 1;
    waits_ = waits_ && !between_;
  }
  void resume() { coroutine_.resume(); }
  [[nodiscard]] bool has_ended() const { return coroutine_.has_ended(); }
  [[nodiscard]] std::size_t unit() const { return unit_; }
  [[nodiscard]] bool is_forever() const { return times_ == forever; }
  /// One that runs forever and has moved words since a kernel that was started moved one.
  [[nodiscard]] bool is_alone() const { return alone_ > 0 && others_moves_ == flow_->moves_; }

  /// "b_1 waits for data on a_1.out:b_1.in", and "or" where there are several.
  [[nodiscard]] std::string waiting() const {
    std::string all;
    for (const Side& side : waits_ ? waits_at_ : std::vector<Side>{}) {
      all += (all.empty() ? flow_->description_->units[unit_].instance + " waits for " : " or ") +
             (side.reads ? "data" : "room") + " on " + side.stream->place().name;
    }
    return all;
  }

  /// Raises how much later this run is than its logic says, because what it read came later.
  bool find_lateness() {
    Time found = late_;
    for (const auto& stream : flow_->streams_) {
      if (stream->place().consumer == unit_ && stream->last_read_) {
        const Run* const from = flow_->latest_of(stream->place().producer);
        const Time late = from == nullptr ? 0 : from->late_;
        found = std::max(
            found, late + flow_->clock_.of(1) + since(*stream->last_read_, stream->last_written_));
      }
    }
    return std::exchange(late_, found) != found;
  }
  [[nodiscard]] Ended ended() const {
    return {.unit = unit_,
            .began = began_,
            .end = now_ + static_cast<std::uint64_t>(late_),
            .bytes = bytes_};
  }

 private:
  /// This run's side of a stream.
  struct Side {
    Stream* stream;
    bool reads;

    [[nodiscard]] bool is_ready() const { return stream->is_ready(reads); }
    bool operator==(const Side&) const = default;
  };

  void call() {
    for (std::uint32_t time = 0; is_forever() || time < times_; ++time) {
      base_ = now_;
      moved_ = false;
      const KernelOutcome outcome = body_(*this);
      if (flow_->gone_) {
        return;
      }
      now_ = later(now_, base_ + static_cast<std::uint64_t>(outcome.logic));
      add_memory();
      memory_ = std::max<Time>(outcome.duration - outcome.logic, 0);
      late_ = memory_;
      bytes_ += outcome.bytes;
      if (is_forever() && !moved_) {  // nor will the next, before one of these is ready
        between_ = true;
        wait_for_asked();
        between_ = false;
        if (flow_->gone_) {
          return;
        }
      }
    }
  }
  /// What memory added to the run before; until this one reaches a stream, those behind it are as
  /// late as that one was.
  void add_memory() {
    if (const auto memory = static_cast<std::uint64_t>(std::exchange(memory_, 0)); memory > 0) {
      base_ += memory;
      now_ += memory;
      late_ = 0;
    }
  }
  void ask(const Side& side) {
    if (std::ranges::find(asked_, side) == asked_.end()) {
      asked_.push_back(side);
    }
  }
  void wait_at(std::vector<Side> sides) {
    waits_at_ = std::move(sides);
    waits_ = true;
    coroutine_.pause();
    waits_ = false;
  }
  void wait_for_asked() {
    looks_ = 0;
    wait_at(std::exchange(asked_, {}));
  }

  /// The end that an argument is; where `reads` is given, only such a one.
  Side connected(std::uint32_t argument, std::optional<bool> reads = {}) {
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

  static bool moves(StreamWait wait) {
    return wait == StreamWait::wait || wait == StreamWait::try_now;
  }

  template <class Action>
  StreamAnswer reach(const Side& side, std::uint64_t cycles, StreamWait wait,
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
    if (flow_->gone_) {
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
      std::erase(asked_, side);  // it is ready until this run moves a word
    }
    add_memory();
    wait_until(ready_at(side));
    action(now_);
    return StreamAnswer::done;
  }

  void count_move() {
    if (!free_) {
      ++flow_->moves_;
      return;
    }
    alone_ = is_alone() ? alone_ + 1 : 1;
    others_moves_ = flow_->moves_;
    if (alone_ > flow_->most_alone_) {
      throw KernelError(flow_->endless());
    }
  }

  /// Once; where it asks at each clock, until none of them can do what concerns this one.
  void let_others_run(const Side& side) {
    looks_at_ = side;
    do {
      coroutine_.pause();
    } while (asks_each_clock_ && !flow_->gone_ && !side.is_ready() &&
             flow_->others_come_before(*this));
    looks_at_.reset();
  }

  [[nodiscard]] std::uint64_t after(std::uint64_t cycles) const {
    return base_ + static_cast<std::uint64_t>(flow_->clock_.of(static_cast<std::int64_t>(cycles)));
  }
  /// When what is ready became so; now, where it always was.
  [[nodiscard]] std::uint64_t ready_at(const Side& side) const {
    const auto ready = side.stream->since_when(side.reads);
    return !ready ? now_
                  : *ready + static_cast<std::uint64_t>(flow_->clock_.of(side.reads ? 1 : 0));
  }
  void wait_until(std::uint64_t time) {
    if (const Time lasts = since(now_, time); lasts > 0) {
      base_ += static_cast<std::uint64_t>(lasts);
      now_ = time;
    }
  }

  Dataflow* flow_;
  std::size_t unit_;
  std::uint32_t times_;
  bool free_;  ///< it was started to run forever
  Body body_;
  std::uint64_t began_;
  std::uint64_t base_;  ///< its start, and what it waited since
  std::uint64_t now_ = base_;
  Time late_ = 0;
  Time memory_ = 0;  ///< added to the run before, and not yet to this one's time
  std::uint64_t bytes_ = 0;
  std::uint64_t looks_ = 0;
  bool moved_ = false;       ///< a word, in this one of its runs
  std::uint64_t alone_ = 0;  ///< words moved at `others_moves_`
  std::uint64_t others_moves_ = 0;
  std::vector<Side> asked_;       ///< in vain, since a word was moved or it waited
  std::vector<Side> waits_at_;    ///< for one of these
  std::optional<Side> looks_at_;  ///< in vain, while others run
  bool asks_each_clock_ = false;
  bool waits_ = false;
  bool between_ = false;  ///< two of its runs
  Coroutine coroutine_;   // last: it uses the others
};

Dataflow::Dataflow(const Description& description, double hertz)
    : description_(&description), clock_(Pace::of_rate(hertz)) {
  for (const StreamPlace& place : description.streams) {
    streams_.push_back(std::make_unique<Stream>(place));
    most_alone_ += 2 * place.depth;  // each word written and read
  }
}

Dataflow::~Dataflow() {
  gone_ = true;
  for (const auto& run : runs_) {
    while (!run->has_ended()) {
      try {
        run->resume();
        // It says that the card is gone. NOLINTNEXTLINE(bugprone-empty-catch)
      } catch (const std::exception&) {
      }
    }
  }
}

void Dataflow::start(std::size_t unit, std::uint64_t now, std::uint32_t times, Body body) {
  for (const auto& run : runs_) {
    if (run->unit() == unit && !run->has_ended()) {
      if (times == forever && run->is_forever()) {
        return;
      }
      throw KernelError(description_->units[unit].instance +
                        " is started again while it waits: " + run->waiting());
    }
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
  ++moves_;  // what moved before is over
  std::vector<Run*> ended;
  for (bool any = true; any;) {
    any = false;
    for (const auto& run : runs_) {
      if (run->can_go_on()) {
        run->resume();
        any = true;
        if (run->has_ended()) {
          ended.push_back(run.get());
        }
      }
    }
  }
  // What comes late at the beginning of a chain is late at its end.
  for (std::size_t pass = 0; pass < runs_.size(); ++pass) {
    if (std::ranges::count_if(runs_, [](const auto& run) { return run->find_lateness(); }) == 0) {
      break;
    }
  }
  std::vector<Ended> found;
  std::ranges::transform(ended, std::back_inserter(found), &Run::ended);
  return found;
}

std::string Dataflow::endless() const {
  std::string all;
  for (const auto& run : runs_) {
    if (run->is_alone()) {
      all += (all.empty() ? "" : ", ") + description_->units[run->unit()].instance;
    }
  }
  return "kernels that run forever pass words round without end, a million since any other moved "
         "one: " +
         all +
         "; a board goes on beside the program, here the program would wait for ever: let it start "
         "one of them, as often as that is needed";
}

std::string Dataflow::waiting() const {
  std::string all;
  for (const auto& run : runs_) {
    if (!run->has_ended() && !run->is_forever()) {
      all += (all.empty() ? "" : ", ") + run->waiting();
    }
  }
  return all;
}

}  // namespace isthmus::card::process

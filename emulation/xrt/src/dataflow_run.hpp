// The runs of a kernel with streams, as Dataflow schedules them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stream.hpp"

namespace isthmus::card::process {

/// One start of a kernel: `times` runs, or runs without end. After its last run a kernel may go on
/// to move words; then nothing waits for its end.
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
                    StreamWait wait) override;
  StreamAnswer write(std::uint32_t argument, const StreamWord& word, std::uint64_t cycles,
                     StreamWait wait) override;
  StreamAnswer wait(std::span<const std::uint32_t> arguments, std::uint64_t cycles,
                    bool computes) override;
  bool done(const KernelOutcome& outcome) override;

  [[nodiscard]] bool can_go_on() const {
    return !has_ended() && (!waits_ || is_over() || goes_on_computing_ ||
                            std::ranges::any_of(waits_at_, &Side::is_ready));
  }
  /// Returns whether this run's next action may affect `other` at `other`'s current time.
  [[nodiscard]] bool comes_before(const Run& other) const {
    return can_go_on() && (!looks_at_ || looks_at_->is_ready() ||
                           (asks_each_clock_ && since(now_, other.now_) > 0));
  }
  void resume() { coroutine_.resume(); }
  /// Makes the current run of a kernel that runs forever its last run.
  void stop() {
    times_ = 1;
    waits_ = waits_ && !between_;
  }
  /// Returns whether all runs have ended and the kernel still moves words.
  [[nodiscard]] bool goes_on_after_end() const { return done_at_ && !has_ended(); }
  void stop_after_end() { stopped_ = goes_on_after_end(); }
  /// Lets the kernel compute on, because all other runs wait. Returns whether it computes while it
  /// waits.
  bool compute() { return goes_on_computing_ = waits_ && computes_; }

  [[nodiscard]] bool has_ended() const { return coroutine_.has_ended(); }
  /// Returns true at the first call after all runs have ended, and never again.
  [[nodiscard]] bool tells_end() {
    return (done_at_ || has_ended()) && !std::exchange(end_reported_, true);
  }
  [[nodiscard]] std::size_t unit() const { return unit_; }
  [[nodiscard]] bool is_forever() const { return times_ == forever; }
  /// Returns whether nothing waits for this run's end, and only runs of this sort have moved words
  /// since this run's first word.
  [[nodiscard]] bool is_alone() const { return alone_ > 0 && others_moves_ == flow_->moves_; }

  /// Returns a text like "b_1 waits for data on a_1.out:b_1.in", with "or" between several streams.
  /// Empty if the run does not wait, or if nothing waits for its end.
  [[nodiscard]] std::string waiting() const;

  /// Computes how much later this run is than its logic, because its input came later; returns
  /// whether that has changed.
  bool find_lateness();
  [[nodiscard]] Ended ended() const {
    return {.unit = unit_,
            .began = began_,
            .end = done_at_.value_or(now_) + static_cast<std::uint64_t>(late_),
            .outcome = outcome_};
  }

 private:
  /// The end of a stream that this run reads or writes.
  struct Side {
    Stream* stream;
    bool reads;

    [[nodiscard]] bool is_ready() const { return stream->is_ready(reads); }
    bool operator==(const Side&) const = default;
  };

  static Time since(std::uint64_t begin, std::uint64_t end) {
    return static_cast<Time>(end - begin);
  }
  static std::uint64_t later(std::uint64_t time, std::uint64_t other) {
    return since(time, other) > 0 ? other : time;
  }
  static bool moves(StreamWait wait) {
    return wait == StreamWait::wait || wait == StreamWait::try_now;
  }

  void call();
  void count(const KernelOutcome& outcome);
  void add_memory();
  /// Returns whether the run must end, because the card is closed or the program starts the kernel
  /// again.
  [[nodiscard]] bool is_over() const { return flow_->gone_ || stopped_; }

  /// Returns the side of the stream at an argument; with `reads` only if it has that direction.
  Side connected(std::uint32_t argument, std::optional<bool> reads = {});
  template <class Action>
  StreamAnswer reach(const Side& side, std::uint64_t cycles, StreamWait wait, const Action& action);
  void ask(const Side& side);
  void wait_at(std::vector<Side> sides);
  void wait_for_asked();
  void let_others_run(const Side& side);
  void count_move();

  [[nodiscard]] std::uint64_t after(std::uint64_t cycles) const {
    return base_ + static_cast<std::uint64_t>(flow_->clock_.of(static_cast<std::int64_t>(cycles)));
  }
  [[nodiscard]] std::uint64_t ready_at(const Side& side) const;
  void wait_until(std::uint64_t time);

  Dataflow* flow_;
  std::size_t unit_;
  std::uint32_t times_;
  std::uint32_t time_ = 0;  ///< number of the current run, from 0
  bool free_;               ///< whether nothing waits for its end
  Body body_;
  std::uint64_t began_;
  std::uint64_t base_;  ///< start of the run plus its waits so far
  std::uint64_t now_ = base_;
  Time late_ = 0;
  Time memory_ = 0;  ///< memory time of the previous run, until it is added to `now_`
  KernelOutcome outcome_;
  std::uint64_t looks_ = 0;
  bool moved_ = false;       ///< whether the current run has moved a word
  std::uint64_t alone_ = 0;  ///< words that this run has moved since other runs' `others_moves_`
  std::uint64_t others_moves_ = 0;
  std::vector<Side> asked_;     ///< sides found not ready since the last word or wait
  std::vector<Side> waits_at_;  ///< sides of which it waits for any
  /// Side that is not ready and is asked for while other runs go on.
  std::optional<Side> looks_at_;
  bool asks_each_clock_ = false;
  bool waits_ = false;
  bool between_ = false;    ///< whether it waits between two runs
  bool by_clocks_ = false;  ///< whether it waits like a module, which has clocks
  bool computes_ = false;   ///< whether it computes while it waits
  bool goes_on_computing_ = false;
  std::optional<std::uint64_t> done_at_;  ///< end of the runs, if the kernel has reported it
  bool end_reported_ = false;
  bool stopped_ = false;  ///< whether it must stop to move words
  Coroutine coroutine_;   // the last member, because its function uses the others
};

}  // namespace isthmus::card::process

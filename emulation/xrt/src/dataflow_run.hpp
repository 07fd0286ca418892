// A run of a kernel with streams, as Dataflow has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stream.hpp"

namespace isthmus::card::process {

/// One run of a kernel, or of one that runs forever all of them. A kernel may go on after the end
/// of its last run, only to move words: then nobody waits for it.
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
  /// Whether what it does next can concern `other` at the time that that has come to.
  [[nodiscard]] bool comes_before(const Run& other) const {
    return can_go_on() && (!looks_at_ || looks_at_->is_ready() ||
                           (asks_each_clock_ && since(now_, other.now_) > 0));
  }
  void resume() { coroutine_.resume(); }
  /// Of one that runs forever: what goes on is its last.
  void stop() {
    times_ = 1;
    waits_ = waits_ && !between_;
  }
  /// Whether all of its runs are over, and its kernel moves words.
  [[nodiscard]] bool goes_on_after_end() const { return done_at_ && !has_ended(); }
  void stop_after_end() { stopped_ = goes_on_after_end(); }
  /// Tells one that waits, and computes meanwhile, that all others wait; whether it does.
  bool compute() { return goes_on_computing_ = waits_ && computes_; }

  [[nodiscard]] bool has_ended() const { return coroutine_.has_ended(); }
  /// Once, when all of its runs are over.
  [[nodiscard]] bool tells_end() {
    return (done_at_ || has_ended()) && !std::exchange(told_end_, true);
  }
  [[nodiscard]] std::size_t unit() const { return unit_; }
  [[nodiscard]] bool is_forever() const { return times_ == forever; }
  /// One that nobody waits for and that has moved words since a kernel that was started moved one.
  [[nodiscard]] bool is_alone() const { return alone_ > 0 && others_moves_ == flow_->moves_; }

  /// "b_1 waits for data on a_1.out:b_1.in", and "or" where there are several; empty where nobody
  /// waits for this run, or it does not wait.
  [[nodiscard]] std::string waiting() const;

  /// Raises how much later this run is than its logic says, because what it read came later.
  bool find_lateness();
  [[nodiscard]] Ended ended() const {
    return {.unit = unit_,
            .began = began_,
            .end = done_at_.value_or(now_) + static_cast<std::uint64_t>(late_),
            .outcome = outcome_};
  }

 private:
  /// This run's side of a stream.
  struct Side {
    Stream* stream;
    bool reads;

    [[nodiscard]] bool is_ready() const { return stream->is_ready(reads); }
    bool operator==(const Side&) const = default;
  };

  static Time since(std::uint64_t begin, std::uint64_t end) {
    return static_cast<Time>(end - begin);
  }
  static std::uint64_t later(std::uint64_t one, std::uint64_t other) {
    return since(one, other) > 0 ? other : one;
  }
  static bool moves(StreamWait wait) {
    return wait == StreamWait::wait || wait == StreamWait::try_now;
  }

  void call();
  void count(const KernelOutcome& outcome);
  void add_memory();
  /// Whether it must end: the card is closed, or the kernel is started anew.
  [[nodiscard]] bool is_over() const { return flow_->gone_ || stopped_; }

  /// The end that an argument is; where `reads` is given, only such a one.
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
  std::uint32_t time_ = 0;  ///< which of these
  bool free_;               ///< nobody waits for it
  Body body_;
  std::uint64_t began_;
  std::uint64_t base_;  ///< its start, and what it waited since
  std::uint64_t now_ = base_;
  Time late_ = 0;
  Time memory_ = 0;  ///< added to the run before, and not yet to this one's time
  KernelOutcome outcome_;
  std::uint64_t looks_ = 0;
  bool moved_ = false;       ///< a word, in this one of its runs
  std::uint64_t alone_ = 0;  ///< words moved at `others_moves_`
  std::uint64_t others_moves_ = 0;
  std::vector<Side> asked_;       ///< in vain, since a word was moved or it waited
  std::vector<Side> waits_at_;    ///< for one of these
  std::optional<Side> looks_at_;  ///< in vain, while others run
  bool asks_each_clock_ = false;
  bool waits_ = false;
  bool between_ = false;    ///< two of its runs
  bool by_clocks_ = false;  ///< it waited as one does that has clocks: a module
  bool computes_ = false;   ///< while it waits
  bool goes_on_computing_ = false;
  std::optional<std::uint64_t> done_at_;  ///< where the kernel said so, not the function's end
  bool told_end_ = false;
  bool stopped_ = false;  ///< after its end
  Coroutine coroutine_;   // last: it uses the others
};

}  // namespace isthmus::card::process

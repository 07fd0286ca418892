// Programs that run a kernel several times: right ones, and ones with a mistake in one round.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "on_card.hpp"

namespace {

constexpr int elements = 1024;
constexpr std::size_t bytes = elements * sizeof(int);

/// A card with a kernel that doubles, and what a round needs.
class Rounds {
 public:
  Rounds(const Arguments& arguments)
      : card_(arguments[0]),
        kernel_(card_.device, card_.uuid, "scale"),
        way_(arguments[1]),
        read_(bytes / sizeof(int)) {
    for (int n = 0; n < 2; ++n) {
      in_.emplace_back(card_.device, bytes, kernel_.group_id(0));
      out_.emplace_back(card_.device, bytes, kernel_.group_id(1));
      from_.push_back(in_.back().map<int*>());
      if (!is("by_read")) {
        to_.push_back(out_.back().map<int*>());
      }
      runs_.emplace_back(kernel_);
      set(runs_.back(), n, n);
    }
  }

  [[nodiscard]] bool is(const std::string& mistake) const {
    return way_.find(mistake) != std::string::npos;
  }
  void set(xrt::run& run, int in, int out) {
    run.set_arg(0, in_[in]);
    run.set_arg(1, out_[out]);
    run.set_arg(2, elements);
    run.set_arg(3, 2);
    run.set_arg(4, 0.0F);
  }
  /// Sends the input of a round; by `same` it has the same numbers in each round.
  void send(int n, int round) {
    if (is("by_write")) {
      in_[n].write(std::vector<int>(elements, value(round)).data());
    } else {
      const int kept = is("middle") && round > n ? elements / 4 : 0;  // at both ends
      std::fill_n(from_[n] + kept, elements - 2 * kept, value(round));
    }
    in_[n].sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  void start(int n) { runs_[n].start(); }
  void wait(int n) { runs_[n].wait(); }
  void take(int n) {
    ++takes_;
    if (takes_half()) {
      out_[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes / 2, 0);
    } else if (is("elements_for_bytes")) {
      out_[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE, elements, 0);
    } else if (is("in_two_parts")) {
      out_[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes / 2, bytes / 2);
      out_[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes / 2, 0);
    } else {
      for (const auto& [first, end] : needed()) {
        out_[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE, (end - first) * sizeof(int), first * sizeof(int));
      }
    }
  }
  /// Compares what the host has of a round.
  void look(int n, int round) {
    const int* found = is("by_read") ? read_.data() : to_[n];
    if (is("by_read")) {
      out_[n].read(read_.data());
    }
    std::ptrdiff_t wrong = 0;
    for (const auto& [first, end] : needed()) {
      wrong += std::count_if(found + first, found + end,
                             [&](int one) { return one != 2 * value(round); });
    }
    tell("wrong" + std::to_string(round), static_cast<double>(wrong));
  }
  /// Compares what was doubled twice.
  void look_at_passed() {
    tell("wrong", static_cast<double>(std::count_if(to_[1], to_[1] + elements,
                                                    [&](int one) { return one != 4 * value(0); })));
  }
  /// Makes the first run anew, without its number of elements.
  void leave_out_a_value() {
    runs_[0] = xrt::run(kernel_);
    runs_[0].set_arg(0, in_[0]);
    runs_[0].set_arg(1, out_[0]);
    runs_[0].set_arg(3, 2);
    runs_[0].set_arg(4, 0.0F);
  }
  /// A run that reads what another one has written.
  void pass_on() {
    if (is("unset")) {
      leave_out_a_value();
    }
    start(0);
    wait(0);
    runs_[1].set_arg(0, out_[0]);
    start(1);
    wait(1);
  }

  /// Runs once without a number of elements, then with it and without input.
  void mend_and_err() {
    leave_out_a_value();
    start(0);
    wait(0);
    set(runs_[0], 1, 1);
    start(0);
    wait(0);
  }

 private:
  /// By `then_all` the program reads the first half of the first output alone.
  [[nodiscard]] bool takes_half() const {
    return is("first_half") && !(is("then_all") && takes_ > 1);
  }
  /// The results that the program reads: first element, and the element behind the last.
  [[nodiscard]] std::vector<std::pair<int, int>> needed() const {
    if (takes_half()) {
      return {{0, elements / 2}};
    }
    if (is("first_ten")) {
      return {{0, 10}};
    }
    if (is("ends_only")) {
      return {{0, elements / 4}, {elements - elements / 4, elements}};
    }
    return {{0, elements}};
  }
  [[nodiscard]] int value(int round) const { return is("same") ? 21 : 21 + round; }

  Card card_;
  xrt::kernel kernel_;
  std::string way_;
  std::vector<xrt::bo> in_;
  std::vector<xrt::bo> out_;
  std::vector<int*> from_;
  std::vector<int*> to_;
  std::vector<xrt::run> runs_;
  std::vector<int> read_;
  int takes_ = 0;
};

/// One buffer set: send, run, take, look. `lost_N` leaves round N out of the takes.
void serial(const Arguments& arguments) {
  Rounds rounds(arguments);
  const int last = std::stoi(arguments[2]);
  for (int round = 0; round < last; ++round) {
    if (round == 0 || !rounds.is("without_input")) {
      rounds.send(0, round);
    }
    rounds.start(0);
    rounds.wait(0);
    if (!rounds.is("lost_" + std::to_string(round)) && !(rounds.is("first_only") && round > 0) &&
        !(rounds.is("last_only") && round + 1 < last)) {
      rounds.take(0);
      rounds.look(0, rounds.is("without_input") ? 0 : round);
    } else if (!rounds.is("unlooked")) {
      rounds.look(0, round);
    }
  }
}

/// Two rounds: the second input is sent while the first run goes on, to the same buffer where the
/// way is `overwrites`, by `in_queue` after both runs were started.
void overlapped(const Arguments& arguments) {
  Rounds rounds(arguments);
  const int other = rounds.is("overwrites") ? 0 : 1;
  rounds.send(0, 0);
  rounds.send(1, 1);
  rounds.start(0);
  if (rounds.is("in_queue")) {
    rounds.start(1);
    rounds.send(1, 2);
  } else {
    rounds.send(other, 1);
    if (other == 1) {
      rounds.start(1);
    }
  }
  rounds.wait(0);
  rounds.take(0);
  rounds.look(0, 0);
  if (rounds.is("in_queue") || other == 1) {
    rounds.wait(1);
    rounds.take(1);
    rounds.look(1, 1);
  }
}

/// A run, and another one with the output of the first as its input; `unset` leaves a value of the
/// first run out.
void chained(const Arguments& arguments) {
  Rounds rounds(arguments);
  rounds.send(0, 0);
  rounds.pass_on();
  rounds.take(1);
  rounds.look_at_passed();
}

/// Two runs with buffers apart: the first lacks a value, the second its input.
void independent(const Arguments& arguments) {
  Rounds rounds(arguments);
  rounds.send(0, 0);
  rounds.leave_out_a_value();
  for (int n = 0; n < 2; ++n) {
    rounds.start(n);
    rounds.wait(n);
    rounds.take(n);
  }
}

/// One run object: its first start lacks a value, its second one an input.
void mended(const Arguments& arguments) {
  Rounds rounds(arguments);
  rounds.send(0, 0);
  rounds.mend_and_err();
  rounds.take(1);
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"serial", serial},
              {"overlapped", overlapped},
              {"chained", chained},
              {"independent", independent},
              {"mended", mended}});
}

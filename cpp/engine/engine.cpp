#include "isthmus/engine.hpp"

#include <algorithm>
#include <cmath>

#include "probe.hpp"

namespace isthmus {
namespace {

/// A block may run this many times its aim to reach the next look at the series: ending just short
/// of it would cost another set-up.
constexpr double block_stretch = 4.0;
/// Between the stamps of an operation's parts; their low bytes must keep changing with every
/// repetition, for they are all that a one-byte buffer holds.
constexpr std::uint64_t next_part = std::uint64_t{1} << 56U;
/// Once is enough to know that this needs no batch.
constexpr double surely_long_s = 1e-3;
constexpr std::uint64_t most_batch = std::uint64_t{1} << 32U;
/// Of the software above an emulated card: enough for an interval of the median.
constexpr std::size_t most_software_samples = 25;

double seconds_since(Ticks begin) {
  return static_cast<double>(HostClock::raw_nanoseconds() - begin) * 1e-9;
}

void note(Block& block, const Operation& operation, bool arrived, const char* when) {
  if (arrived) {
    return;
  }
  block.verified = Verified::no;
  if (block.fault.empty()) {
    const std::string known = operation.fault();
    block.fault = std::string("data did not arrive intact in the ") + when + " repetition" +
                  (known.empty() ? "" : ": ") + known;
  }
}

/// Goes through all parts once: arms, runs and checks them in the order that the operation allows.
template <class Arm, class Run, class Check>
void go_through(const Operation& operation, const Arm& arm, const Run& run, const Check& check) {
  const std::size_t parts = operation.parts();
  if (!operation.parts_arm_together()) {
    for (std::size_t part = 0; part < parts; ++part) {
      arm(part);
      run(part);
      check(part);
    }
    return;
  }
  for (std::size_t part = 0; part < parts; ++part) {
    arm(part);
  }
  for (std::size_t part = 0; part < parts; ++part) {
    run(part);
  }
  for (std::size_t part = 0; part < parts; ++part) {
    check(part);
  }
}

}  // namespace

Series::Series(Device& device, OperationSpec spec, SeriesOptions options)
    : device_(&device), spec_(std::move(spec)), options_(options), clock_(&HostClock::instance()) {}

double Series::per_repetition(Ticks ticks) const {
  const double pairs = static_cast<double>(intervals_) * clock_->info().empty_pair_s;
  return std::max(clock_->seconds(ticks) - pairs, 0.0) / static_cast<double>(batch_);
}

void Series::sample_simulated(Operation& operation, Block& block) {
  const auto repetitions = static_cast<std::int64_t>(operation.least_batch());
  for (unsigned sample = 0; sample < device_->info().simulated_samples; ++sample) {
    run_verified_once(operation, block, false);
    for (std::size_t part = 0; part < operation.parts(); ++part) {
      block.parts[part].simulated_fs.push_back(operation.simulated_femtoseconds(part) /
                                               repetitions);
    }
  }
  block.remarks = operation.remarks();
  if (!device_->info().real_software) {  // whose samples are of one repetition
    block.batch = operation.least_batch();
  }
  state_ = "precision";
  for (const PartSamples& part : block.parts) {
    const std::vector<double> samples(part.simulated_fs.begin(), part.simulated_fs.end());
    const Interval found = median_interval(samples, options_.confidence);
    if (samples.size() > 1 && found.relative_half_width() > options_.precision) {
      state_ = "samples";
    }
  }
}

/// The host's time through the emulation, which is no cost of a board: a few samples are enough.
void Series::sample_software(Operation& operation, Block& block) {
  const std::uint64_t repetitions = operation.least_batch();
  const Ticks begin = HostClock::raw_nanoseconds();
  const bool moves = operation.moves_data();
  std::uint64_t stamp = 0;
  const auto arm = [&](std::size_t part) {
    if (moves) {
      operation.arm(part, stamp + part * next_part);
    }
  };
  const auto check = [&](std::size_t part) {
    if (moves) {
      note(block, operation, operation.arrived(part, stamp + part * next_part), "timed");
    }
  };
  const auto run = [&](std::size_t part) {
    const Ticks start = clock_->start();
    operation.run(part, repetitions);
    block.parts[part].ticks.push_back((clock_->stop() - start) / static_cast<Ticks>(repetitions));
  };
  while (block.parts.front().ticks.size() < most_software_samples) {
    stamp = fresh_stamp();
    go_through(operation, arm, run, check);
    if (seconds_since(begin) > options_.least_block_s) {
      break;
    }
  }
}

void Series::run_verified_once(Operation& operation, Block& block, bool keep_cold) {
  const bool moves = operation.moves_data();
  // The low byte is fresh too: it is all that a one-byte buffer holds. Seeds of one round must not
  // meet: a movement takes seed, seed + 1, ...
  const auto seed_of = [base = fresh_stamp() * 0x9E3779B97F4A7C15U](std::size_t part) {
    return base + part * 64;
  };
  const auto arm = [&](std::size_t part) {
    if (moves) {
      operation.arm_fully(part, seed_of(part));
    }
  };
  const auto run = [&](std::size_t part) {
    const Ticks begin = clock_->start();
    operation.run(part, operation.least_batch());
    const Ticks ticks = clock_->stop() - begin;
    if (keep_cold) {
      block.parts[part].cold = ticks / operation.least_batch();
    }
  };
  const auto check = [&](std::size_t part) {
    if (moves) {
      note(block, operation, operation.arrived_fully(part, seed_of(part)),
           keep_cold ? "first" : "first or last");
    }
  };
  go_through(operation, arm, run, check);
}

void Series::calibrate_batch(Operation& operation) {
  batch_ = operation.least_batch();
  const std::size_t parts = operation.parts();
  const auto timed = [&](std::uint64_t repetitions) {
    double shortest = 1e300;
    for (std::size_t part = 0; part < parts; ++part) {
      const Ticks begin = clock_->start();
      operation.run(part, parts == 1 ? repetitions : 1);
      shortest = std::min(shortest, clock_->seconds(clock_->stop() - begin));
    }
    return shortest;
  };
  if (parts > 1) {
    // Parts alternate, so each is timed by itself even within a batch: see Block::intervals.
    double typical = 1e300;
    for (int i = 0; i < 25; ++i) {
      typical = std::min(typical, timed(1) - clock_->info().empty_pair_s);
      if (i > 0 && typical > surely_long_s) {
        break;  // twice: the first might have been interrupted
      }
    }
    if (typical < options_.batch_below_s) {
      batch_ = std::max(
          batch_, static_cast<std::uint64_t>(std::ceil(
                      options_.least_batch_s / std::max(typical, clock_->info().empty_pair_s))));
    }
    intervals_ = batch_;
    return;
  }
  // A few warm repetitions first: the very first ones are not typical.
  double once = 1e300;
  for (int i = 0; i < 5; ++i) {
    once = std::min(once, timed(batch_) - clock_->info().empty_pair_s);
    if (once > surely_long_s) {
      return;
    }
  }
  if (once / static_cast<double>(batch_) >= options_.batch_below_s) {
    return;
  }
  while (batch_ < most_batch) {
    // The shortest of a few: one interrupted batch would look long enough.
    const double took = std::min({timed(batch_), timed(batch_), timed(batch_)});
    if (took >= options_.least_batch_s) {
      return;
    }
    const double factor = took > 0 ? 1.1 * options_.least_batch_s / took : 10.0;
    batch_ = std::max(batch_ + 1, static_cast<std::uint64_t>(static_cast<double>(batch_) *
                                                             std::clamp(factor, 1.1, 10.0)));
  }
}

void Series::sample_once(Operation& operation, Block& block) {
  const std::size_t parts = operation.parts();
  const bool moves = operation.moves_data();
  const bool together = operation.parts_arm_together();
  // The parts of a pair alternate, so a batch of pairs is as many rounds.
  const std::uint64_t rounds = parts == 1 ? 1 : batch_;
  const std::uint64_t repetitions = batch_ / rounds;
  const auto stamp_of = [stamp = fresh_stamp()](std::size_t part) {
    return stamp + part * next_part;
  };
  std::vector<Ticks> ticks(parts, 0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    // Data armed before the first round is looked for after the last; where a part can only be
    // armed just before it runs, both rounds are armed and checked.
    const bool first = round == 0;
    const bool last = round + 1 == rounds;
    const bool armed = moves && (first || (last && !together));
    const bool checked = moves && (last || (first && !together));
    go_through(
        operation,
        [&](std::size_t part) {
          if (armed) {
            operation.arm(part, stamp_of(part));
          }
        },
        [&](std::size_t part) {
          const Ticks begin = clock_->start();
          operation.run(part, repetitions);
          ticks[part] += clock_->stop() - begin;
        },
        [&](std::size_t part) {
          if (checked) {
            note(block, operation, operation.arrived(part, stamp_of(part)), "timed");
          }
        });
  }
  for (std::size_t part = 0; part < parts; ++part) {
    block.parts[part].ticks.push_back(ticks[part]);
    seconds_[part].push_back(per_repetition(ticks[part]));
    if (const auto device = operation.device_seconds(part)) {
      // The device tells of its last run only, which is one repetition where parts alternate.
      block.parts[part].device_seconds.push_back(*device / static_cast<double>(repetitions));
    }
  }
}

void Series::postpone(std::size_t samples) {
  for (StoppingCriterion& criterion : criteria_) {
    criterion.postpone(samples);
  }
}

void Series::look(bool may_end) {
  using Verdict = StoppingCriterion::Verdict;
  const std::size_t have = seconds_.front().size();
  if (!may_end && have < options_.most_samples) {
    postpone(have + 1);
    return;
  }
  const double resolution = clock_->info().resolution_s / static_cast<double>(batch_);
  bool capped = false;
  bool open = false;
  for (std::size_t part = 0; part < criteria_.size(); ++part) {
    const Verdict verdict = criteria_[part].look(seconds_[part], resolution);
    capped = capped || verdict == Verdict::capped;
    open = open || verdict == Verdict::go_on;
  }
  if (capped) {
    state_ = "samples";
  } else if (!open) {
    state_ = "precision";
  } else {
    // One part may be known well enough and another not: all are looked at together the next time.
    for (const StoppingCriterion& criterion : criteria_) {
      postpone(criterion.next_check());
    }
  }
}

Block Series::measure(double most_seconds) {
  const Ticks begin = HostClock::raw_nanoseconds();
  const std::size_t had = seconds_.empty() ? 0 : seconds_.front().size();
  const bool calibrated = batch_ != 0;
  const std::string state = state_;
  try {
    Block block = visit(begin, most_seconds);
    spent_s_ += block.block_s;
    return block;
  } catch (...) {
    // The block is lost: what nobody will see must not speak for the series. Its time is spent.
    for (std::vector<double>& samples : seconds_) {
      samples.resize(had);
    }
    if (!calibrated) {
      batch_ = 0;
      intervals_ = 1;
    }
    state_ = state;
    spent_s_ += seconds_since(begin);
    throw;
  }
}

Block Series::visit(Ticks begin, double most_seconds) {
  Block block;
  const auto elapsed = [begin] { return seconds_since(begin); };
  const Probe before = read_probe();
  const std::unique_ptr<Operation> operation = device_->make(spec_);
  const std::size_t parts = operation->parts();
  block.parts.resize(parts);
  seconds_.resize(parts);
  if (criteria_.empty()) {
    criteria_.assign(
        parts, StoppingCriterion(options_.precision, options_.most_samples, options_.confidence));
  }
  for (std::size_t part = 0; part < parts; ++part) {
    block.parts[part].moved_bytes = operation->moved_bytes(part);
  }
  block.verified = operation->moves_data() ? Verified::yes : Verified::na;
  if (device_->info().clock == ClockDomain::simulated) {
    sample_simulated(*operation, block);
    if (device_->info().real_software) {
      sample_software(*operation, block);
    }
    block.probe = read_probe() - before;
    block.block_s = elapsed();
    block.state = state_;
    return block;
  }
  run_verified_once(*operation, block, !cold_taken_);
  cold_taken_ = true;
  if (batch_ == 0) {
    calibrate_batch(*operation);
  }
  block.setup_s = elapsed();

  // As long as the set-up at least, so that no more than half of the time goes into it.
  const double aim = std::max(options_.least_block_s, block.setup_s);
  const double allowed = std::min(most_seconds, options_.most_seconds - spent_s_);
  while (state_ == "open") {
    sample_once(*operation, block);
    const double sampling = elapsed() - block.setup_s;
    look(sampling >= options_.least_block_s);
    if (state_ != "open") {
      break;
    }
    if (block.setup_s + sampling >= allowed) {
      if (options_.most_seconds - spent_s_ <= most_seconds) {
        state_ = "time";
      }
      break;
    }
    if (sampling >= aim) {
      const std::size_t missing = criteria_.front().next_check() - seconds_.front().size();
      const double each = sampling / static_cast<double>(block.parts.front().ticks.size());
      if (sampling + each * static_cast<double>(missing) > block_stretch * aim) {
        break;
      }
    }
  }
  run_verified_once(*operation, block, false);
  block.remarks = operation->remarks();
  block.batch = batch_;
  block.intervals = intervals_;
  block.probe = read_probe() - before;
  block.block_s = elapsed();
  block.state = state_;
  return block;
}

}  // namespace isthmus

#include "isthmus/engine.hpp"

#include <algorithm>
#include <cmath>

#include "block.hpp"
#include "probe.hpp"

namespace isthmus {
namespace {

/// Between the stamps of an operation's parts; their low bytes must keep changing with every
/// repetition, for they are all that a one-byte buffer holds.
constexpr std::uint64_t next_part = std::uint64_t{1} << 56U;
/// Twice is enough to know that this needs no batch: the first might have been interrupted.
constexpr double surely_long_s = 1e-4;
constexpr std::uint64_t most_batch = std::uint64_t{1} << 32U;
/// Of the software above an emulated card: enough for an interval of the median.
constexpr std::size_t most_software_samples = 25;

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
    : device_(&device),
      spec_(std::move(spec)),
      options_(options),
      clock_(&HostClock::instance()),
      progress_(options) {}

double Series::per_repetition(Ticks ticks, double empty_s) const {
  return std::max(clock_->seconds(ticks) - empty_s, 0.0) / static_cast<double>(batch_);
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
  std::vector<std::vector<double>> times;
  times.reserve(block.parts.size());
  for (const PartSamples& part : block.parts) {
    times.emplace_back(part.simulated_fs.begin(), part.simulated_fs.end());
  }
  progress_.end_simulated(times);
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
  // Seeds of one round must not meet: a movement takes seed, seed + 1, ...
  const auto seed = [base = seed_of(fresh_stamp())](std::size_t part) { return base + part * 64; };
  const auto arm = [&](std::size_t part) {
    if (moves) {
      operation.arm_fully(part, seed(part));
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
      note(block, operation, operation.arrived_fully(part, seed(part)),
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
        break;
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
    if (i > 0 && once > surely_long_s) {
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
    batch_ = longer_batch(batch_, took, options_.least_batch_s);
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
  std::vector<Ticks> empty(parts, 0);
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
          if (rounds > 1) {
            const Ticks again = clock_->start();
            empty[part] += clock_->stop() - again;
          }
        },
        [&](std::size_t part) {
          if (checked) {
            note(block, operation, operation.arrived(part, stamp_of(part)), "timed");
          }
        });
  }
  for (std::size_t part = 0; part < parts; ++part) {
    block.parts[part].ticks.push_back(ticks[part]);
    double empty_s = static_cast<double>(intervals_) * clock_->info().empty_pair_s;
    if (rounds > 1) {
      block.parts[part].empty_ticks.push_back(empty[part]);
      empty_s = clock_->seconds(empty[part]);
    }
    progress_.add(part, per_repetition(ticks[part], empty_s));
    if (const auto device = operation.device_seconds(part)) {
      // The device tells of its last run only, which is one repetition where parts alternate.
      const double each = *device / static_cast<double>(repetitions);
      block.parts[part].device_seconds.push_back(each);
      progress_.add_of_device(part, each);
    }
  }
}

Block Series::measure(double most_seconds) {
  const Ticks begin = HostClock::raw_nanoseconds();
  const bool calibrated = batch_ != 0;
  try {
    Block block = visit(begin, most_seconds);
    progress_.keep_visit(block.block_s);
    return block;
  } catch (...) {
    if (!calibrated) {
      batch_ = 0;
      intervals_ = 1;
    }
    progress_.drop_visit(seconds_since(begin));
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
  progress_.begin_visit(parts);
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
    block.state = state();
    return block;
  }
  run_verified_once(*operation, block, !cold_taken_);
  cold_taken_ = true;
  if (batch_ == 0) {
    calibrate_batch(*operation);
  }
  block.setup_s = elapsed();

  bool goes_on = progress_.state() == Progress::State::open;
  while (goes_on) {
    sample_once(*operation, block);
    goes_on = progress_.goes_on(
        {.most_seconds = most_seconds,
         .setup_s = block.setup_s,
         .sampling_s = elapsed() - block.setup_s,
         .samples = block.parts.front().ticks.size(),
         .resolution_s = clock_->info().resolution_s / static_cast<double>(batch_)});
  }
  run_verified_once(*operation, block, false);
  block.remarks = operation->remarks();
  block.batch = batch_;
  block.intervals = intervals_;
  block.probe = read_probe() - before;
  block.block_s = elapsed();
  block.state = state();
  return block;
}

}  // namespace isthmus

#include "isthmus/engine.hpp"

#include <algorithm>
#include <cmath>

#include "block.hpp"

namespace isthmus {
namespace {

/// Seconds of a repetition that needs no batch. Two repetitions must take longer, because one that
/// is interrupted also seems long.
constexpr double surely_long_s = 1e-4;
constexpr std::uint64_t most_batch = std::uint64_t{1} << 32U;
/// Samples of host time above an emulated card: enough for a 95 % interval of the median.
constexpr std::size_t most_software_samples = 25;

/// Arms, runs and checks each part once, in an order that the operation allows.
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

template class VisitedSeries<Operation>;

Series::Series(Device& device, OperationSpec spec, const SeriesOptions& options)
    : VisitedSeries(device, std::move(spec), options) {}

std::unique_ptr<Operation> Series::open(Block& block) {
  std::unique_ptr<Operation> operation = device().make(spec());
  const std::size_t parts = operation->parts();
  block.parts.resize(parts);
  progress().begin_visit(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    block.parts[part].moved_bytes = operation->moved_bytes(part);
  }
  block.verified = operation->moves_data() ? Verified::yes : Verified::na;
  return operation;
}

void Series::close(Operation& operation, Block& block) {
  // Each part was timed alone `batch()` times in a sample.
  if (operation.parts() > 1 && batch() > 0) {
    block.intervals = batch();
  }
  block.remarks = operation.remarks();
}

double Series::per_repetition(Ticks ticks, double empty_s) const {
  return std::max(clock().seconds(ticks) - empty_s, 0.0) / static_cast<double>(batch());
}

void Series::sample_simulated(Operation& operation, Block& block) {
  const auto repetitions = static_cast<std::int64_t>(operation.least_batch());
  if (device().info().real_software && !operation.moves_data()) {
    for (std::size_t part = 0; part < operation.parts(); ++part) {
      operation.run(part, operation.least_batch());  // warms up: a card's first launch takes longer
    }
  }
  for (unsigned sample = 0; sample < device().info().simulated_samples; ++sample) {
    verify(operation, block, "simulated", false);
    for (std::size_t part = 0; part < operation.parts(); ++part) {
      block.parts[part].simulated_fs.push_back(operation.simulated_femtoseconds(part) /
                                               repetitions);
    }
  }
  if (!device().info().real_software) {  // with real software, the block keeps a batch of 1
    block.batch = operation.least_batch();
  }
  std::vector<std::vector<double>> times;
  times.reserve(block.parts.size());
  for (const PartSamples& part : block.parts) {
    times.emplace_back(part.simulated_fs.begin(), part.simulated_fs.end());
  }
  progress().end_simulated(times);
  if (device().info().real_software) {
    sample_software(operation, block);
  }
}

/// Samples the host time of real software above an emulated card. At most `most_software_samples`
/// are taken, because that time does not depend on the board.
void Series::sample_software(Operation& operation, Block& block) {
  const std::uint64_t repetitions = operation.least_batch();
  const Ticks begin = HostClock::raw_nanoseconds();
  const bool moves = operation.moves_data();
  std::uint64_t stamp = 0;
  const auto arm = [&](std::size_t part) {
    if (moves) {
      operation.arm(part, stamp + part);
    }
  };
  const auto check = [&](std::size_t part) {
    if (moves) {
      note(block, operation, operation.arrived(part, stamp + part), "timed");
    }
  };
  const auto run = [&](std::size_t part) {
    const Ticks start = clock().start();
    operation.run(part, repetitions);
    block.parts[part].ticks.push_back((clock().stop() - start) / static_cast<Ticks>(repetitions));
  };
  while (block.parts.front().ticks.size() < most_software_samples) {
    stamp = fresh_stamps(operation.parts());
    go_through(operation, arm, run, check);
    if (seconds_since(begin) > options().least_block_s) {
      break;
    }
  }
}

void Series::verify(Operation& operation, Block& block, const char* when, bool keep_cold) {
  const bool moves = operation.moves_data();
  const auto seed = [stamp = fresh_stamps(operation.parts())](std::size_t part) {
    return seed_of(stamp + part);
  };
  const auto arm = [&](std::size_t part) {
    if (moves) {
      operation.arm_fully(part, seed(part));
    }
  };
  const auto run = [&](std::size_t part) {
    const Ticks begin = clock().start();
    operation.run(part, operation.least_batch());
    const Ticks ticks = clock().stop() - begin;
    if (keep_cold) {
      block.parts[part].cold = ticks / operation.least_batch();
    }
  };
  const auto check = [&](std::size_t part) {
    if (moves) {
      note(block, operation, operation.arrived_fully(part, seed(part)), when);
    }
  };
  go_through(operation, arm, run, check);
}

std::uint64_t Series::calibrated(Operation& operation) {
  std::uint64_t batch = operation.least_batch();
  const std::size_t parts = operation.parts();
  const auto timed = [&](std::uint64_t repetitions) {
    double shortest = 1e300;
    for (std::size_t part = 0; part < parts; ++part) {
      const Ticks begin = clock().start();
      operation.run(part, parts == 1 ? repetitions : 1);
      shortest = std::min(shortest, clock().seconds(clock().stop() - begin));
    }
    return shortest;
  };
  if (parts > 1) {
    // The parts of a pair alternate and are timed alone even within a batch (Block::intervals).
    double typical = 1e300;
    for (int i = 0; i < 25; ++i) {
      typical = std::min(typical, timed(1) - clock().info().empty_pair_s);
      if (i > 0 && typical > surely_long_s) {
        break;
      }
    }
    if (typical < options().batch_below_s) {
      batch = std::max(
          batch, static_cast<std::uint64_t>(std::ceil(
                     options().least_batch_s / std::max(typical, clock().info().empty_pair_s))));
    }
    return batch;
  }
  // The shortest of five is used, because the first repetitions after the cold one take longer.
  double once = 1e300;
  for (int i = 0; i < 5; ++i) {
    once = std::min(once, timed(batch) - clock().info().empty_pair_s);
    if (i > 0 && once > surely_long_s) {
      return batch;
    }
  }
  if (once / static_cast<double>(batch) >= options().batch_below_s) {
    return batch;
  }
  while (batch < most_batch) {
    // The shortest of three is used: a batch that was interrupted would seem long enough.
    const double took = std::min({timed(batch), timed(batch), timed(batch)});
    if (took >= options().least_batch_s) {
      return batch;
    }
    batch = longer_batch(batch, took, options().least_batch_s);
  }
  return batch;
}

void Series::sample_once(Operation& operation, Block& block) {
  const std::size_t parts = operation.parts();
  const bool moves = operation.moves_data();
  const bool together = operation.parts_arm_together();
  // The parts of a pair alternate: a batch is then `batch()` rounds, each with one repetition of
  // every part.
  const std::uint64_t rounds = parts == 1 ? 1 : batch();
  const std::uint64_t repetitions = batch() / rounds;
  const auto stamp_of = [stamp = fresh_stamps(parts)](std::size_t part) { return stamp + part; };
  std::vector<Ticks> ticks(parts, 0);
  std::vector<Ticks> empty(parts, 0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    // Data are armed before the first round and checked after the last. If a part can be armed only
    // just before it runs, the first and the last round are both armed and checked.
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
          const Ticks begin = clock().start();
          operation.run(part, repetitions);
          ticks[part] += clock().stop() - begin;
          if (rounds > 1) {
            const Ticks again = clock().start();
            empty[part] += clock().stop() - again;
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
    double empty_s = clock().info().empty_pair_s;
    if (rounds > 1) {
      block.parts[part].empty_ticks.push_back(empty[part]);
      empty_s = clock().seconds(empty[part]);
    }
    progress().add(part, per_repetition(ticks[part], empty_s));
    if (const auto device = operation.device_seconds(part)) {
      // `device_seconds` covers the last `run` only: one repetition if the parts alternate.
      const double each = *device / static_cast<double>(repetitions);
      block.parts[part].device_seconds.push_back(each);
      progress().add_of_device(part, each);
    }
  }
}

}  // namespace isthmus

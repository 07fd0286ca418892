#include "isthmus/joint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "block.hpp"
#include "isthmus/together.hpp"
#include "probe.hpp"

namespace isthmus {
namespace {

/// How long a loop takes is what its fastest round took, for the first are not typical and any may
/// be interrupted: so many, but no more once they have taken so many times a loop's time.
constexpr int most_rounds = 10;
constexpr double most_rounds_loops = 20.0;

/// Noise of all ranks; the machine's is that of the worst machine.
Probe noise_of(const std::vector<Probe>& ranks) {
  Probe sum;
  for (const Probe& rank : ranks) {
    sum.steal_s = std::max(sum.steal_s, rank.steal_s);
    sum.voluntary_switches += rank.voluntary_switches;
    sum.involuntary_switches += rank.involuntary_switches;
    sum.minor_faults += rank.minor_faults;
    sum.major_faults += rank.major_faults;
  }
  return sum;
}

template <class Shares, class Member>
auto largest(const Shares& shares, Member member) {
  return std::ranges::max(shares, {}, member).*member;
}

}  // namespace

JointSeries::JointSeries(Device& device, OperationSpec spec, const SeriesOptions& options,
                         Communicator& communicator)
    : device_(&device),
      spec_(std::move(spec)),
      options_(options),
      communicator_(&communicator),
      clock_(&HostClock::instance()),
      seconds_per_tick_(communicator.agreed(clock_->info().seconds_per_tick)),
      stamp_(communicator.agreed(fresh_stamp())),
      progress_(options) {}

/// Labels of one round's messages follow its stamp, so the next one's begins behind them; odd, so
/// that its low byte, all that a one-byte message holds, is another.
std::uint64_t JointSeries::next_stamp() { return stamp_ += 2 * communicator_->size() + 1; }

template <class Arm, class Check>
std::vector<JointSeries::Share> JointSeries::round(JointOperation& operation,
                                                   std::uint64_t repetitions, const Arm& arm,
                                                   const Check& check) {
  Trouble trouble;
  // A rank in trouble goes on: the others wait for its messages.
  const auto attempt = [&](const auto& action) {
    const Trouble found = trouble_of(*communicator_, action);
    trouble = trouble ? trouble : found;
  };
  Share mine;
  attempt(arm);
  communicator_->barrier();
  attempt([&] {
    const Communicator::Doing exchanges(*communicator_, Activity::exchanging);
    const Ticks begin = clock_->start();
    operation.run(repetitions);
    mine.seconds = clock_->seconds(clock_->stop() - begin);
  });
  if (!trouble) {
    attempt([&] {
      check();
      mine.device_seconds = operation.device_seconds().value_or(-1.0);
      if (device_->info().clock == ClockDomain::simulated) {
        mine.simulated_fs = operation.simulated_femtoseconds();
      }
    });
  }
  mine.failed = static_cast<bool>(trouble);
  std::vector<Share> shares = communicator_->gathered(mine);
  if (std::ranges::any_of(shares, &Share::failed)) {
    throw_on_all(*communicator_, trouble);
  }
  return shares;
}

std::vector<JointSeries::Share> JointSeries::verified_round(JointOperation& operation, Block& block,
                                                            const char* when) {
  const std::uint64_t seed = seed_of(next_stamp());
  return round(
      operation, operation.armed_repetitions(),
      [&] {
        if (moves_) {
          operation.arm_fully(seed);
        }
      },
      [&] {
        if (moves_) {
          note(block, operation, operation.arrived_fully(seed), when);
        }
      });
}

void JointSeries::sample_once(JointOperation& operation, Block& block) {
  const std::uint64_t stamp = next_stamp();
  const std::vector<Share> shares = round(
      operation, loop_,
      [&] {
        if (moves_) {
          operation.arm(stamp);
        }
      },
      [&] {
        if (moves_) {
          note(block, operation, operation.arrived(stamp), "timed");
        }
      });
  const auto keep = [&](PartSamples& part, double seconds, double device_seconds) {
    part.ticks.push_back(static_cast<Ticks>(std::llround(seconds / seconds_per_tick_)));
    if (device_seconds >= 0) {
      part.device_seconds.push_back(device_seconds / static_cast<double>(loop_));
    }
  };
  const double slowest = largest(shares, &Share::seconds);
  const double on_device = largest(shares, &Share::device_seconds);
  keep(block.parts[0], slowest, on_device);
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    keep(block.parts[1 + rank], shares[rank].seconds, shares[rank].device_seconds);
  }
  progress_.add(0, slowest / static_cast<double>(loop_));
  if (on_device >= 0) {
    progress_.add_of_device(0, on_device / static_cast<double>(loop_));
  }
}

void JointSeries::sample_simulated(JointOperation& operation, Block& block) {
  const auto repetitions = static_cast<std::int64_t>(operation.armed_repetitions());
  for (unsigned sample = 0; sample < device_->info().simulated_samples; ++sample) {
    const std::vector<Share> shares = verified_round(operation, block, "simulated");
    block.parts[0].simulated_fs.push_back(largest(shares, &Share::simulated_fs) / repetitions);
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      block.parts[1 + rank].simulated_fs.push_back(shares[rank].simulated_fs / repetitions);
    }
  }
  const std::vector<std::int64_t>& slowest = block.parts[0].simulated_fs;
  progress_.end_simulated({{slowest.begin(), slowest.end()}});
}

void JointSeries::calibrate_loop(JointOperation& operation) {
  const auto nothing = [] {};
  // Not fully armed any more: as it is going to be timed.
  const std::uint64_t stamp = next_stamp();
  if (moves_) {
    throw_on_all(*communicator_, trouble_of(*communicator_, [&] { operation.arm(stamp); }));
  }
  std::uint64_t loop = 1;
  while (loop < options_.most_loop) {
    double took = 1e300;
    double all = 0;
    for (int i = 0;
         i < most_rounds && took >= options_.loop_s && all < most_rounds_loops * options_.loop_s;
         ++i) {
      const double once = largest(round(operation, loop, nothing, nothing), &Share::seconds);
      took = std::min(took, once);
      all += once;
    }
    if (took >= options_.loop_s) {
      break;
    }
    loop = communicator_->agreed(
        std::min(longer_batch(loop, took, options_.loop_s), options_.most_loop));
  }
  loop_ = loop;
}

bool JointSeries::goes_on(const Progress::Visit& visit) {
  struct Verdict {
    bool goes_on;
    Progress::State state;
  };
  Verdict verdict{};
  if (communicator_->rank() == 0) {
    verdict.goes_on = progress_.goes_on(visit);
    verdict.state = progress_.state();
  }
  verdict = communicator_->agreed(verdict);
  progress_.set_state(verdict.state);
  return verdict.goes_on;
}

Block JointSeries::measure(double most_seconds) {
  const Ticks begin = HostClock::raw_nanoseconds();
  const bool calibrated = loop_ != 0;
  try {
    Block block = visit(begin, most_seconds);
    progress_.keep_visit(block.block_s);
    return block;
  } catch (...) {
    if (!calibrated) {
      loop_ = 0;
    }
    progress_.drop_visit(seconds_since(begin));
    throw;
  }
}

std::unique_ptr<JointOperation> JointSeries::join(Block& block) {
  struct Facts {
    std::uint64_t moved;
    bool moves;
  };
  std::unique_ptr<JointOperation> operation;
  throw_on_all(*communicator_, trouble_of(*communicator_, [&] {
    progress_.begin_visit(1);
    operation = device_->join(spec_, *communicator_);
  }));
  operation->connect(*communicator_);
  const std::vector<Facts> facts = communicator_->gathered(
      Facts{.moved = operation->moved_bytes(), .moves = operation->moves_data()});
  block.parts.resize(1 + facts.size());
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    block.parts[1 + rank].moved_bytes = facts[rank].moved;
    block.parts[0].moved_bytes += facts[rank].moved;
  }
  moves_ = std::ranges::all_of(facts, &Facts::moves);
  block.verified = moves_ ? Verified::yes : Verified::na;
  return operation;
}

Block JointSeries::visit(Ticks begin, double most_seconds) {
  Block block;
  const auto elapsed = [&] { return seconds_since(begin); };
  const Probe before = read_probe();
  const std::unique_ptr<JointOperation> operation = join(block);
  if (device_->info().clock == ClockDomain::simulated) {
    sample_simulated(*operation, block);
  } else {
    const std::vector<Share> first = verified_round(*operation, block, "first");
    if (!std::exchange(cold_taken_, true)) {
      const auto cold = [&](double seconds) {
        return static_cast<Ticks>(std::llround(seconds / seconds_per_tick_)) /
               operation->armed_repetitions();
      };
      block.parts[0].cold = cold(largest(first, &Share::seconds));
      for (std::size_t rank = 0; rank < first.size(); ++rank) {
        block.parts[1 + rank].cold = cold(first[rank].seconds);
      }
    }
    if (loop_ == 0) {
      calibrate_loop(*operation);
    }
    block.setup_s = communicator_->agreed(elapsed());
    bool goes_on = progress_.state() == Progress::State::open;
    while (goes_on) {
      sample_once(*operation, block);
      goes_on =
          this->goes_on({.most_seconds = most_seconds,
                         .setup_s = block.setup_s,
                         .sampling_s = elapsed() - block.setup_s,
                         .samples = block.parts[0].ticks.size(),
                         .resolution_s = clock_->info().resolution_s / static_cast<double>(loop_)});
    }
    verified_round(*operation, block, "last");
    block.batch = loop_;
  }
  finish(*operation, block, read_probe() - before);
  operation->disconnect(*communicator_);
  block.block_s = communicator_->agreed(elapsed());
  block.state = state();
  return block;
}

void JointSeries::finish(const JointOperation& operation, Block& block, const Probe& noise) {
  const std::string fault = block.fault.empty() ? "" : rank_and_host(*communicator_) + block.fault;
  block.fault.clear();
  for (const std::string& text : gathered_texts(*communicator_, fault)) {
    if (!text.empty()) {
      block.verified = Verified::no;
      block.fault += (block.fault.empty() ? "" : "; ") + text;
    }
  }
  std::string mine = communicator_->size() == 1 ? "to_itself;" : "";
  for (const std::string& remark : operation.remarks()) {
    mine += remark + ";";
  }
  for (const std::string& text : gathered_texts(*communicator_, mine)) {
    for (std::size_t at = 0; at < text.size(); at = text.find(';', at) + 1) {
      const std::string remark = text.substr(at, text.find(';', at) - at);
      if (std::ranges::find(block.remarks, remark) == block.remarks.end()) {
        block.remarks.push_back(remark);
      }
    }
  }
  block.probe = noise_of(communicator_->gathered(noise));
}

}  // namespace isthmus

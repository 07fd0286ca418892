#include "isthmus/joint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "block.hpp"
#include "isthmus/collective_errors.hpp"

namespace isthmus {
namespace {

/// Calibration times a loop in several rounds and takes the fastest, because the first is slow and
/// any may be interrupted. Limits: ten rounds, and 20 times `loop_s` for all rounds of a loop.
constexpr int most_rounds = 10;
constexpr double most_rounds_loops = 20.0;

/// Returns the disturbances of all ranks: sums of switches and faults, and the largest steal.
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

template class VisitedSeries<JointOperation>;

JointSeries::JointSeries(Device& device, OperationSpec spec, const SeriesOptions& options,
                         Communicator& communicator)
    : VisitedSeries(device, std::move(spec), options),
      communicator_(&communicator),
      seconds_per_tick_(communicator.agreed(clock().info().seconds_per_tick)),
      stamp_(communicator.agreed(fresh_stamp())) {}

/// Returns the next stamp. Its distance from the previous stamp exceeds the number of messages'
/// labels, so that no message of one stamp has data of another.
std::uint64_t JointSeries::next_stamp() {
  return stamp_ += distinct_distance(2 * communicator_->size() + 1);
}

template <class Arm, class Check>
std::vector<JointSeries::Share> JointSeries::round(JointOperation& operation,
                                                   std::uint64_t repetitions, const Arm& arm,
                                                   const Check& check) {
  Trouble trouble;
  // After an error this rank still takes part in the round, because other ranks wait for it.
  const auto attempt = [&](const auto& action) {
    const Trouble found = trouble_of(*communicator_, action);
    trouble = trouble ? trouble : found;
  };
  Share own;
  attempt(arm);
  communicator_->barrier();
  attempt([&] {
    const Communicator::Doing exchanges(*communicator_, Activity::exchanging);
    const Ticks begin = clock().start();
    operation.run(repetitions);
    own.seconds = clock().seconds(clock().stop() - begin);
  });
  if (!trouble) {
    attempt([&] {
      check();
      own.device_seconds = operation.device_seconds().value_or(-1.0);
      if (device().info().clock == ClockDomain::simulated) {
        own.simulated_fs = operation.simulated_femtoseconds();
      }
    });
  }
  own.failed = static_cast<bool>(trouble);
  std::vector<Share> shares = communicator_->gathered(own);
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
      operation, batch(),
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
      part.device_seconds.push_back(device_seconds / static_cast<double>(batch()));
    }
  };
  const double slowest = largest(shares, &Share::seconds);
  const double on_device = largest(shares, &Share::device_seconds);
  keep(block.parts[0], slowest, on_device);
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    keep(block.parts[1 + rank], shares[rank].seconds, shares[rank].device_seconds);
  }
  progress().add(0, slowest / static_cast<double>(batch()));
  if (on_device >= 0) {
    progress().add_of_device(0, on_device / static_cast<double>(batch()));
  }
}

void JointSeries::sample_simulated(JointOperation& operation, Block& block) {
  const auto repetitions = static_cast<std::int64_t>(operation.armed_repetitions());
  for (unsigned sample = 0; sample < device().info().simulated_samples; ++sample) {
    const std::vector<Share> shares = verified_round(operation, block, "simulated");
    block.parts[0].simulated_fs.push_back(largest(shares, &Share::simulated_fs) / repetitions);
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      block.parts[1 + rank].simulated_fs.push_back(shares[rank].simulated_fs / repetitions);
    }
  }
  const std::vector<std::int64_t>& slowest = block.parts[0].simulated_fs;
  progress().end_simulated({{slowest.begin(), slowest.end()}});
}

std::uint64_t JointSeries::calibrated(JointOperation& operation) {
  const auto nothing = [] {};
  // Messages are armed by a stamp, as in the timed loop, so that each lane uses one buffer.
  const std::uint64_t stamp = next_stamp();
  if (moves_) {
    throw_on_all(*communicator_, trouble_of(*communicator_, [&] { operation.arm(stamp); }));
  }
  std::uint64_t loop = 1;
  while (loop < options().most_loop) {
    double took = 1e300;
    double all = 0;
    for (int i = 0;
         i < most_rounds && took >= options().loop_s && all < most_rounds_loops * options().loop_s;
         ++i) {
      const double once = largest(round(operation, loop, nothing, nothing), &Share::seconds);
      took = std::min(took, once);
      all += once;
    }
    if (took >= options().loop_s) {
      break;
    }
    loop = communicator_->agreed(
        std::min(longer_batch(loop, took, options().loop_s), options().most_loop));
  }
  return loop;
}

bool JointSeries::goes_on(const Progress::Visit& visit) {
  struct Verdict {
    bool goes_on;
    Progress::State state;
  };
  Verdict verdict{};
  if (communicator_->rank() == 0) {
    verdict.goes_on = progress().goes_on(visit);
    verdict.state = progress().state();
  }
  verdict = communicator_->agreed(verdict);
  progress().set_state(verdict.state);
  return verdict.goes_on;
}

double JointSeries::agreed(double seconds) { return communicator_->agreed(seconds); }

std::unique_ptr<JointOperation> JointSeries::open(Block& block) {
  struct Facts {
    std::uint64_t moved;
    bool moves;
  };
  std::unique_ptr<JointOperation> operation;
  throw_on_all(*communicator_, trouble_of(*communicator_, [&] {
    progress().begin_visit(1);
    operation = device().join(spec(), *communicator_);
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

void JointSeries::verify(JointOperation& operation, Block& block, const char* when,
                         bool keep_cold) {
  const std::vector<Share> shares = verified_round(operation, block, when);
  if (!keep_cold) {
    return;
  }
  const auto cold = [&](double seconds) {
    return static_cast<Ticks>(std::llround(seconds / seconds_per_tick_)) /
           operation.armed_repetitions();
  };
  block.parts[0].cold = cold(largest(shares, &Share::seconds));
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    block.parts[1 + rank].cold = cold(shares[rank].seconds);
  }
}

void JointSeries::close(JointOperation& operation, Block& block) {
  const std::string fault = block.fault.empty() ? "" : rank_and_host(*communicator_) + block.fault;
  block.fault.clear();
  for (const std::string& text : gathered_texts(*communicator_, fault)) {
    if (!text.empty()) {
      block.verified = Verified::no;
      block.fault += (block.fault.empty() ? "" : "; ") + text;
    }
  }
  std::string own = communicator_->size() == 1 ? "to_itself;" : "";
  for (const std::string& remark : operation.remarks()) {
    own += remark + ";";
  }
  for (const std::string& text : gathered_texts(*communicator_, own)) {
    for (std::size_t at = 0; at < text.size(); at = text.find(';', at) + 1) {
      const std::string remark = text.substr(at, text.find(';', at) - at);
      if (std::ranges::find(block.remarks, remark) == block.remarks.end()) {
        block.remarks.push_back(remark);
      }
    }
  }
  block.probe = noise_of(communicator_->gathered(block.probe));
  operation.disconnect(*communicator_);
}

}  // namespace isthmus

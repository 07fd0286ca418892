#include "isthmus/card/process/output_checks.hpp"

#include <algorithm>
#include <vector>

namespace isthmus::card::process {
namespace {

/// Largest share of an output whose reading counts as a mistake: the program has probably given
/// elements for bytes. A larger share may be all that it needs of a kernel's whole words.
constexpr double most_of_a_mistake = 0.5;
/// Number of outputs read, from which one output that is not read counts as a mistake.
constexpr unsigned least_taken = 2;

/// Returns whether the program has read bytes of the output on the host (xrt::bo::read) that it has
/// not fetched from the card since the run.
bool reads_old_bytes(const BufferOutput& output, HostLooks* looks) {
  if (looks == nullptr) {
    return false;
  }
  const std::vector<HostLook> after = looks->after(output.since);
  return std::ranges::any_of(after, [&output](const HostLook& look) {
    const std::uint64_t begin = std::max(look.address, output.begin);
    const std::uint64_t end = std::min(look.address + look.bytes, output.end);
    return begin < end && output.taken.count(begin, end) < end - begin;
  });
}

bool is_wanted(const BufferUse& use, HostLooks* looks) {
  return looks == nullptr || looks->has(use.begin, use.bytes, use.since) ||
         (looks->uses_opencl() && !use.sent);
}

HostFault fault(HostFaultKind kind, const BufferUse& use) {
  const BufferOutput& output = *use.output;
  return {.kind = kind,
          .argument = output.writer,
          .buffer_bytes = use.bytes,
          .output_bytes = output.end - output.begin,
          .taken_bytes = output.taken_bytes(),
          .run = use.runs + 1};
}

/// Returns the mistake in an output of which the program has read some bytes, if any.
std::optional<HostFault> fault_of_part(const BufferUse& use, HostLooks* looks) {
  const BufferOutput& output = *use.output;
  const std::uint64_t taken = output.taken_bytes();
  const std::uint64_t all = output.end - output.begin;
  if (taken == all || looks == nullptr) {
    return std::nullopt;
  }
  const bool is_small = !output.passed_on &&
                        static_cast<double>(taken) <= most_of_a_mistake * static_cast<double>(all);
  if (reads_old_bytes(output, looks) || (is_small && looks->has(use.begin, use.bytes, use.since))) {
    return fault(HostFaultKind::partly_taken, use);
  }
  return std::nullopt;
}

}  // namespace

std::optional<HostFault> fault_of_output(const BufferUse& use, HostLooks* looks, bool is_last) {
  if (!use.output) {
    return std::nullopt;
  }
  const BufferOutput& output = *use.output;
  const bool is_taken = output.taken_bytes() > 0;
  if (is_taken) {
    if (auto part = fault_of_part(use, looks)) {
      return part;
    }
  } else if (!output.passed_on) {
    if (reads_old_bytes(output, looks)) {
      return fault(use.taken_runs > 0 ? HostFaultKind::run_not_taken : HostFaultKind::never_taken,
                   use);
    }
    if (is_last && use.taken_runs == 0 && is_wanted(use, looks)) {
      return fault(HostFaultKind::never_taken, use);
    }
    // A benchmark reads its first outputs, then times many runs whose outputs it does not read.
    const bool is_mostly_taken = use.taken_runs > use.lost_runs;
    if (is_last && is_mostly_taken && output.fresh && is_wanted(use, looks)) {
      return fault(HostFaultKind::run_not_taken, use);
    }
  }
  const unsigned taken_runs = use.taken_runs + (is_taken ? 1 : 0);
  if (is_last && use.lost_runs == 1 && taken_runs >= least_taken && is_wanted(use, looks)) {
    HostFault found = fault(HostFaultKind::run_not_taken, use);
    found.run = use.lost_run;
    return found;
  }
  return std::nullopt;
}

}  // namespace isthmus::card::process

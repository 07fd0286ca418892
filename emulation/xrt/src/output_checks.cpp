#include "isthmus/card/process/output_checks.hpp"

#include <algorithm>
#include <vector>

namespace isthmus::card::process {
namespace {

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
    return std::ranges::any_of(output.written.ends(), [&](const auto& piece) {
      const std::uint64_t from = std::max(piece.first, look.address);
      const std::uint64_t to = std::min(piece.second, look.address + look.bytes);
      return from < to && output.taken.count(from, to) < to - from;
    });
  });
}

/// Whether the program has probably given a number of elements for a number of bytes: it read as
/// many bytes, from the output's begin, as a scalar argument of the run says.
bool is_read_by_elements(const BufferOutput& output) {
  const std::uint64_t taken = output.taken_bytes();
  const std::uint64_t begin = output.written.ends().begin()->first;
  return output.taken.count(begin, begin + taken) == taken &&
         std::ranges::find(output.scalars, taken) != output.scalars.end();
}

bool is_wanted(const BufferUse& use, HostLooks* looks) {
  return looks == nullptr || looks->has(use.begin, use.bytes, use.since) ||
         (looks->uses_opencl() && !use.sent);
}

HostFault fault(HostFaultKind kind, const BufferUse& use, const BufferOutput& output) {
  return {.kind = kind,
          .argument = output.writer,
          .buffer_bytes = use.bytes,
          .by = output.run,
          .output_bytes = output.written.bytes(),
          .taken_bytes = output.taken_bytes(),
          .run = use.runs + 1,
          .start = output.origin.start};
}

/// Returns the mistake of a program that reads a part of outputs and never all of one, if any. A
/// program that once reads all of an output reads a part of others on purpose.
std::optional<HostFault> fault_of_parts(const BufferUse& use, const BufferOutput& last,
                                        HostLooks* looks) {
  if (use.whole_taken || last.is_whole_taken() || looks == nullptr || !is_wanted(use, looks)) {
    return std::nullopt;
  }
  for (const BufferOutput* output : {&last, use.part ? &*use.part : nullptr}) {
    if (output != nullptr && output->taken_bytes() > 0 && !output->passed_on &&
        is_read_by_elements(*output)) {
      return fault(HostFaultKind::partly_taken, use, *output);
    }
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
    if (!output.is_whole_taken() && reads_old_bytes(output, looks)) {
      return fault(HostFaultKind::partly_taken, use, output);
    }
  } else if (!output.passed_on) {
    if (reads_old_bytes(output, looks)) {
      return fault(use.taken_runs > 0 ? HostFaultKind::run_not_taken : HostFaultKind::never_taken,
                   use, output);
    }
    if (is_last && use.taken_runs == 0 && is_wanted(use, looks)) {
      return fault(HostFaultKind::never_taken, use, output);
    }
    // A benchmark reads its first outputs, then times many runs whose outputs it does not read.
    const bool is_mostly_taken = use.taken_runs > use.lost_runs;
    if (is_last && is_mostly_taken && output.fresh && is_wanted(use, looks)) {
      return fault(HostFaultKind::run_not_taken, use, output);
    }
  }
  if (auto parts = is_last ? fault_of_parts(use, output, looks) : std::nullopt) {
    return parts;
  }
  const unsigned taken_runs = use.taken_runs + (is_taken ? 1 : 0);
  if (is_last && use.lost_runs == 1 && taken_runs >= least_taken && is_wanted(use, looks)) {
    HostFault found = fault(HostFaultKind::run_not_taken, use, output);
    found.run = use.lost_run;
    return found;
  }
  return std::nullopt;
}

}  // namespace isthmus::card::process

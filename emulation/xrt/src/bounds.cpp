// Writes facts into the list of events, from which `card exec --watch` computes what bounds a
// program.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "isthmus/card/process/device.hpp"

namespace isthmus::card::process {
namespace {

std::vector<PortWork> ports_of(const std::vector<Moved>& moved) {
  std::vector<PortWork> ports;
  std::ranges::transform(moved, std::back_inserter(ports), &Moved::work);
  return ports;
}

/// Returns the same work with each port at a bank of its own, as far as there are banks.
std::vector<PortWork> apart(std::vector<PortWork> ports, std::size_t banks) {
  std::size_t next = 0;
  for (PortWork& port : ports) {
    port.bank = next++ % banks;
  }
  return ports;
}

}  // namespace

/// Returns the facts of a transfer: its memory, its start-up, its whole duration on an idle
/// machine, and its shares beside a transfer of the other direction, in one bank and in two.
std::string Device::facts_of(Direction direction, std::uint64_t address, std::uint64_t bytes) {
  const bool has_model = timing_->board().dma && !timing_->board().sync && !timing_->is_random();
  if (!meter_->lists_events() || !has_model || bytes == 0) {
    return {};
  }
  const auto count = static_cast<std::int64_t>(bytes);
  const Time startup = timing_->transfer(direction, 1, 0, 0).total();
  const Time alone =
      timing_
          ->transfer(direction, count, static_cast<std::int64_t>(address % residence_page_bytes),
                     description_.bank_of(address))
          .total();
  const bool has_two = timing_->board().memory && timing_->board().memory->banks > 1;
  const MemoryRange* memory = description_.memory_of(address);
  return '\t' + (memory == nullptr ? "" : memory->name) + '\t' + std::to_string(startup) + '\t' +
         std::to_string(alone) + '\t' +
         std::to_string(timing_->share_beside_other(direction, count, true)) + '\t' +
         std::to_string(timing_->share_beside_other(direction, count, !has_two));
}

/// Lists a run with its facts. First come the clocks in which its busiest port moves its elements.
/// Then come three times of memory: the actual one, that with each port at a bank of its own, and
/// that with all data in host memory (0: the board's kernels cannot access it). Last come each
/// port's argument, memory, direction, bytes and address.
void Device::record_kernel(const Unit& unit, std::uint64_t begin, Time duration,
                           const KernelOutcome& outcome) {
  const bool on_card = std::ranges::all_of(
      outcome.moved, [](const Moved& one) { return one.work.target == Target::device; });
  if (meter_->lists_events() && !timing_->is_random() && on_card && !outcome.moved.empty()) {
    const Board& board = timing_->board();
    const std::vector<PortWork> ports = ports_of(outcome.moved);
    const auto banks = static_cast<std::size_t>(board.memory ? board.memory->banks : 1);
    // The actual time of a run with several loops is longer than that of one sweep over all data.
    // The other two times are lengthened by the same factor.
    const double stretch =
        static_cast<double>(outcome.memory) /
        static_cast<double>(std::max<Time>(1, timing_->kernel(ports, outcome.sweeps)));
    const auto stretched = [&](Time one_go) {
      return std::to_string(static_cast<Time>(stretch * static_cast<double>(one_go)));
    };
    // The parts of an estimated run use few ports at once, so that each has more of the link.
    const std::string on_host = outcome.memory_on_host > 0
                                    ? std::to_string(outcome.memory_on_host)
                                    : stretched(timing_->kernel_on_host(ports, outcome.sweeps));
    std::string facts = std::to_string(outcome.logic) + '\t' + std::to_string(outcome.memory) +
                        '\t' + stretched(timing_->kernel(apart(ports, banks), outcome.sweeps)) +
                        '\t' + on_host;
    for (const Moved& one : outcome.moved) {
      facts += '\t' + one.argument + '\t' + one.memory + '\t' + (one.work.writes ? "w" : "r") +
               '\t' + std::to_string(one.work.bytes * outcome.sweeps) + '\t' +
               std::to_string(one.address);
    }
    meter_->note_facts(unit.place.instance, facts);
  }
  meter_->record_kernel(begin, duration, unit.place.instance, outcome);
}

}  // namespace isthmus::card::process

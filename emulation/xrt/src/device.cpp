#include "isthmus/card/process/device.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "isthmus/card/card.hpp"
#include "isthmus/card/process/output_checks.hpp"

namespace isthmus::card::process {
Device::Device(Description description, Timing& timing, ProgramMemory& host, Meter& meter,
               const std::vector<std::string>& kernel_folders, std::string fatal_warnings,
               bool as_hardware, HostLooks* looks, RunWatch* watch,
               const std::vector<std::string>& not_needed)
    : description_(std::move(description)),
      timing_(&timing),
      transfers_(timing),
      host_(&host),
      meter_(&meter),
      // Without a bitstream, nothing is loaded that takes time.
      programmed_(description_.units.empty()),
      warnings_(std::move(fatal_warnings), not_needed, looks),
      watch_(watch),
      as_hardware_(as_hardware),
      looks_(looks),
      flow_(description_, timing.kernel_hertz()) {
  check_memories();
  check_clock();
  for (const ComputeUnit& place : description_.units) {
    Unit& unit = units_.emplace_back();
    unit.place = place;
    unit.model = make_kernel(place, kernel_folders);
    unit.registers.resize(static_cast<std::size_t>(
        std::clamp<std::uint64_t>(place.range, sizeof(std::uint32_t), most_registers)));
    unit.flows = description_.has_streams(units_.size() - 1);
  }
}

void Device::begin_call() {
  ++meter_->slot().calls;
  if (const auto& offload = timing_->board().offload; !std::exchange(programmed_, true)) {
    spend_on_software(offload ? offload->program_ns : 0, "program", 0);
  }
}

/// Warns if the kernels are built for another clock than the card's.
void Device::check_clock() {
  constexpr double hertz_of_a_megahertz = 1e6;
  const double built = static_cast<double>(description_.clock_mhz) * hertz_of_a_megahertz;
  const double runs = timing_->kernel_hertz();
  if (description_.clock_mhz == 0 || built == runs) {
    return;
  }
  const Board& board = timing_->board();
  std::ostringstream text;
  text << "kernels that are built for " << description_.clock_mhz << " MHz run at "
       << runs / hertz_of_a_megahertz << " MHz: give --board " << board.name
       << ",kernel.clock_MHz=" << description_.clock_mhz;
  warnings_.note("clock", text.str());
}

/// Spends the time of a driver's work, if the program's clocks show simulated time.
void Device::spend_on_software(double nanoseconds, const char* kind, std::uint64_t bytes) {
  if (meter_->has_clock() && nanoseconds > 0) {
    meter_->spend({.simulated = 0, .driver = from_nanoseconds(nanoseconds)}, kind, "", bytes);
  }
}

/// Allocates a buffer, and spends the time in which the driver pins its pages on the host.
std::string Device::allocate(std::uint64_t address, std::uint64_t bytes, bool shared) {
  stuck_for_ = {};
  const MemoryRange* range = description_.memory_of(address);
  std::string file;
  if (range == nullptr || !range->host) {  // else the buffer lies in the program's memory
    if (range != nullptr) {
      check_memory(*range);
    }
    file = memory_.allocate(address, bytes, shared);
  }
  if (BufferUse* use = memory_.use_of(address)) {
    use->since = looks_ == nullptr ? 0 : looks_->count();
    use->kernel_runs = kernel_runs_;
  }
  const Board& board = timing_->board();
  if (board.offload) {
    const auto page = static_cast<std::uint64_t>(board.host.page_bytes);
    const std::uint64_t pages = (bytes + page - 1) / page;
    spend_on_software(board.offload->pin_ns * static_cast<double>(pages), "pin", bytes);
  }
  return file;
}

void Device::free(std::uint64_t address) {
  if (BufferUse* use = memory_.use_of(address)) {
    warn_if_lost(*use);
  }
  memory_.free(address);
}

void Device::note_sent(std::uint64_t address, std::uint64_t bytes) {
  memory_.count_send();
  if (BufferUse* use = memory_.use_of(address)) {
    use->send(address, bytes);
  }
}

void Device::note_taken(std::uint64_t address, std::uint64_t bytes) {
  if (BufferUse* use = memory_.use_of(address)) {
    use->take(address, bytes, memory_.sends());
    use->taken_unwritten |= use->written.ends().empty() && kernel_runs_ > use->kernel_runs;
  }
}

void Device::warn_if_lost(BufferUse& use) {
  if (auto fault = fault_of_output(use, looks_, true)) {
    fault->is_missed = starts_.is_missed(fault->start);
    warnings_.warn(*fault);
  }
  warn_if_never_written(use);
}

void Device::note_submitted(std::uint64_t number) {
  if (number != 0) {
    submitted_ = std::max(submitted_, number);
    ++waiting_;
  }
}

void Device::note_start(std::uint64_t address, std::uint64_t number, bool is_mistaken,
                        std::uint64_t ordered) {
  waiting_ -= number != 0 && waiting_ > 0 ? 1 : 0;
  if (Unit* unit = unit_at(address)) {
    // A kernel with a volatile buffer may wait in that buffer for another kernel.
    const bool may_wait = std::ranges::any_of(unit->place.arguments, &ArgumentPlace::is_volatile);
    unit->origin = {.start = number,
                    .number = may_wait ? 0 : ordered,
                    .unit = number_of(*unit),
                    .connected = unit->flows};
    starts_.add(number, number_of(*unit), unit->flows);
    unit->is_mistaken = is_mistaken;
  }
}

/// Warns if the program takes what a run wrote without knowing that the run has ended: on a board
/// the run may still write.
void Device::warn_if_missed(const BufferUse& use, std::uint64_t address, std::uint64_t bytes) {
  const auto& output = use.output;
  if (output && output->written.meets(address, address + bytes) && is_missed(output->origin)) {
    warnings_.warn(HostFault{.kind = HostFaultKind::never_waited,
                             .argument = output->writer,
                             .buffer_bytes = use.bytes,
                             .by = output->run});
  }
}

/// Returns where data differ from what a buffer holds, in blocks; also where nobody wrote before.
Pieces Device::changed(const BufferUse& use, std::uint64_t address, std::span<const std::byte> now,
                       std::span<const std::byte> data) {
  constexpr std::size_t block = 64;  // small beside what a run reads, and many bytes for one range
  const bool all_written = use.written.count(address, address + data.size()) == data.size();
  Pieces found;
  for (std::size_t at = 0; at < data.size(); at += block) {
    const std::size_t bytes = std::min(block, data.size() - at);
    const std::uint64_t begin = address + at;
    if (!std::ranges::equal(now.subspan(at, bytes), data.subspan(at, bytes)) ||
        (!all_written && use.written.count(begin, begin + bytes) < bytes)) {
      found.add(begin, begin + bytes);
    }
  }
  return found;
}

/// Warns if the program changes bytes of a buffer that a run reads, without knowing that the run
/// has ended. `Reach::read_between` does so for runs that wait for their unit, because they read
/// later.
void Device::warn_if_overwritten(BufferUse& use, std::uint64_t address,
                                 std::span<const std::byte> data) {
  std::erase_if(use.accesses, [this](const BufferAccess& access) {
    return !is_missed(access.origin) && order_.is_past(access.origin.number);
  });
  const std::uint64_t end = address + data.size();
  const bool meets = std::ranges::any_of(use.accesses, [&, this](const BufferAccess& access) {
    return access.read.meets(address, end) && is_missed(access.origin);
  });
  if (!meets && waiting_ == 0) {
    return;
  }
  const std::span<const std::byte> now = memory(address, data.size());
  const Pieces fresh = changed(use, address, now, data);
  if (waiting_ > 0 && !fresh.ends().empty()) {
    use.sent_after = submitted_;
    use.sent_data = fresh;
  }
  for (const BufferAccess& reader : use.accesses) {
    if (reader.read.count(fresh) > 0 && is_missed(reader.origin)) {
      warnings_.warn(HostFault{.kind = HostFaultKind::overwritten,
                               .argument = reader.argument,
                               .buffer_bytes = use.bytes,
                               .by = reader.run});
    }
  }
}

void Device::warn_of_lost_outputs() {
  for (BufferUse* use : memory_.uses()) {
    warn_if_lost(*use);
  }
}

std::span<std::byte> Device::memory(std::uint64_t address, std::uint64_t bytes) {
  try {
    return memory_.at(address, bytes);
  } catch (const MemoryError&) {
    const MemoryRange* range = description_.memory_of(address);
    if (range == nullptr || range->host || bytes > range->bytes - (address - range->address) ||
        !memory_.vacant(address, bytes)) {
      throw;
    }
    memory_.allocate(address, bytes, false);
    return memory_.at(address, bytes);
  }
}

Cost Device::cost_of(Direction direction, std::uint64_t address, std::uint64_t bytes) {
  if (timing_->board().sync) {
    return timing_->sync(static_cast<std::int64_t>(bytes));
  }
  const std::size_t bank = description_.bank_of(address);
  const Cost alone =
      timing_->transfer(direction, static_cast<std::int64_t>(bytes),
                        static_cast<std::int64_t>(address % residence_page_bytes), bank);
  return transfers_.add(meter_->now(), direction, static_cast<std::int64_t>(bytes), bank, alone);
}

void Device::copy_to_card(std::uint64_t address, std::span<const std::byte> data) {
  stuck_for_ = {};
  if (BufferUse* use = memory_.use_of(address)) {
    warn_if_overwritten(*use, address, data);
  }
  std::ranges::copy(data, memory(address, data.size()).begin());
  note_sent(address, data.size());
  meter_->slot().bytes_to_card += data.size();
  spend_on_transfer(Direction::h2d, address, data.size());
}

std::span<const std::byte> Device::copy_from_card(std::uint64_t address, std::uint64_t bytes) {
  stuck_for_ = {};
  const std::span<const std::byte> here = memory(address, bytes);
  if (const BufferUse* use = memory_.use_of(address)) {
    warn_if_missed(*use, address, bytes);
  }
  note_taken(address, bytes);
  meter_->slot().bytes_from_card += bytes;
  spend_on_transfer(Direction::d2h, address, bytes);
  return here;
}

void Device::spend_on_transfer(Direction direction, std::uint64_t address, std::uint64_t bytes) {
  ++meter_->slot().transfers;
  const Cost cost = cost_of(direction, address, bytes);
  meter_->spend(cost, direction == Direction::h2d ? "write" : "read", "", bytes,
                facts_of(direction, address, bytes));
}

void Device::spend_on_copy_between_cards(Direction direction, std::uint64_t address,
                                         std::uint64_t bytes) {
  warnings_.note("p2p",
                 "copies between cards (P2P) are not modelled: they take as long as one between "
                 "this card and the host");
  meter_->spend(cost_of(direction, address, bytes), "copy", "", bytes);
}

}  // namespace isthmus::card::process

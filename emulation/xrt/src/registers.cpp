// A card's kernels by their registers.
#include <algorithm>
#include <cstring>
#include <limits>

#include "isthmus/card/process/device.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::uint32_t ap_start = 1;
constexpr std::uint32_t ap_done = 2;
constexpr std::uint32_t ap_idle = 4;
/// Of a kernel that has none: half an hour, for times wrap.
constexpr Time far_future = Time{1} << 61;
constexpr std::size_t word = sizeof(std::uint32_t);

/// Of the unit that copies, for messages.
const ComputeUnit& copier() {
  static const ComputeUnit unit = {.kernel = "copy", .instance = "copy", .arguments = {}};
  return unit;
}

}  // namespace

Device::Unit* Device::unit_at(std::uint64_t address) {
  const auto found = std::ranges::find_if(units_, [address](const Unit& unit) {
    return address >= unit.place.address && address - unit.place.address < unit.registers.size();
  });
  return found == units_.end() ? nullptr : &*found;
}

void Device::register_access(const Unit& unit, bool load) {
  ++meter_->slot().registers;
  meter_->spend(timing_->access(load), "register", unit.place.instance, word);
}

/// Whether the registers are those of the unit that copies: source, destination and size behind 16
/// bytes of control. The copy is done, and its time spent, before the call returns: XRT waits for
/// it.
bool Device::write_copier(std::uint64_t address, std::span<const std::byte> data) {
  if (address != copier_address || data.size() > copier_.size()) {
    return false;
  }
  std::ranges::copy(data, copier_.begin());
  if ((std::to_integer<std::uint32_t>(copier_.front()) & ap_start) == 0) {
    return true;
  }
  const auto field = [this](std::size_t offset, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, copier_.data() + offset, bytes);
    return value;
  };
  const std::uint64_t from = field(0x10, 8);
  const std::uint64_t to = field(0x18, 8);
  std::vector<std::byte> piece(static_cast<std::size_t>(field(0x20, 4)));
  Reach reach(description_, memory_, *host_, warnings_, copier(), {});
  reach.read(from, piece);
  reach.write(to, piece);
  const Cost cost = timing_->copy(static_cast<std::int64_t>(piece.size()),
                                  description_.bank_of(from), description_.bank_of(to));
  meter_->spend(cost, "copy", copier().instance, piece.size());
  return true;
}

void Device::write_registers(std::uint64_t address, std::span<const std::byte> data) {
  if (write_copier(address, data)) {
    return;
  }
  Unit* unit = unit_at(address);
  if (unit == nullptr || data.size() < word) {
    return;  // parts of a real card that this one does without
  }
  const auto offset = static_cast<std::size_t>(address - unit->place.address);
  if (data.size() > unit->registers.size() - offset) {
    throw KernelError("registers behind those of " + unit->place.instance + " were written");
  }
  const bool whole_map = offset == 0 && data.size() > word;
  if (whole_map) {
    unit->by_xrt = true;
  } else if (offset != 0) {
    unit->by_xrt = false;
  }
  if (!unit->by_xrt) {
    register_access(*unit, false);
  }
  if (unit->runs_on && offset <= restart_counter && offset + data.size() > restart_counter) {
    stop(*unit);
  }
  if (offset == 0 && unit->place.controlled) {
    std::uint32_t value = 0;
    std::memcpy(&value, data.data(), word);
    std::ranges::copy(data.subspan(word), unit->registers.begin() + word);
    control(*unit, value);
  } else {
    std::ranges::copy(data, unit->registers.begin() + static_cast<std::ptrdiff_t>(offset));
  }
}

void Device::control(Unit& unit, std::uint32_t value) {
  if ((value & ap_start) != 0 && !unit.running) {
    start(unit);
  }
}

KernelOutcome Device::run(Unit& unit) {
  Reach reach(description_, memory_, *host_, warnings_, unit.place, unit.registers);
  const KernelRun run{
      .unit = &unit.place, .registers = unit.registers, .reach = &reach, .timing = timing_};
  return unit.model->run(run);
}

void Device::start(Unit& unit) {
  std::uint32_t times = 1;
  if (unit.place.auto_restart) {
    std::memcpy(&times, unit.registers.data() + restart_counter, word);
    unit.runs_on = times == std::numeric_limits<std::uint32_t>::max();
    times = unit.runs_on ? 1 : std::max(times, 1U);
  }
  KernelOutcome outcome;
  for (std::uint32_t time = 0; time < times; ++time) {
    const KernelOutcome once = run(unit);
    outcome.duration += once.duration;
    outcome.bytes += once.bytes;
  }
  if (unit.by_xrt) {
    meter_->spend(timing_->launch(static_cast<Time>(meter_->slot().waited_fs.load())));
  }
  meter_->begin_kernel(unit.runs_on ? far_future : outcome.duration, unit.place.instance,
                       outcome.bytes);
  unit.running = true;
  unit.period = std::max<Time>(outcome.duration, 1);
  unit.end = meter_->now() + static_cast<std::uint64_t>(outcome.duration);
}

/// One that starts itself again ends with the run that it is in.
void Device::stop(Unit& unit) {
  unit.runs_on = false;
  const auto late = static_cast<std::int64_t>(meter_->now() - unit.end);
  if (late > 0) {
    unit.end += static_cast<std::uint64_t>((late + unit.period - 1) / unit.period * unit.period);
  }
}

std::uint32_t Device::status(Unit& unit) {
  if (!unit.running) {
    return ap_idle;
  }
  if (unit.runs_on || !meter_->poll(unit.end)) {
    return ap_start;
  }
  unit.running = false;
  const std::uint64_t now = meter_->now();
  std::uint64_t next = now;
  bool any = false;
  for (const Unit& other : units_) {
    // Differences, for times wrap.
    if (other.running && (!any || static_cast<std::int64_t>(other.end - next) < 0)) {
      next = other.end;
      any = true;
    }
  }
  meter_->end_kernel(next);
  return ap_done | ap_idle;
}

void Device::read_registers(std::uint64_t address, std::span<std::byte> to) {
  if (address == copier_address) {
    std::memcpy(to.data(), &ap_done, std::min(to.size(), word));
    return;
  }
  Unit* unit = unit_at(address);
  if (unit == nullptr) {
    return;
  }
  if (!unit->place.controlled) {
    static_cast<void>(run(*unit));
  }
  const auto offset = static_cast<std::size_t>(address - unit->place.address);
  if (to.size() > unit->registers.size() - offset) {
    throw KernelError("registers behind those of " + unit->place.instance + " were read");
  }
  if (offset != 0 || !unit->by_xrt) {
    register_access(*unit, true);
  }
  std::ranges::copy(std::span(unit->registers).subspan(offset, to.size()), to.begin());
  if (offset == 0 && to.size() >= word && unit->place.controlled) {
    const std::uint32_t value = status(*unit);
    std::memcpy(to.data(), &value, word);
  }
}

}  // namespace isthmus::card::process

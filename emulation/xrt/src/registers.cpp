// Starts kernels and reports their state, when the program accesses their registers.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/card/process/device.hpp"
#include "isthmus/card/process/real_time.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::size_t word = sizeof(std::uint32_t);
/// Real time for which nothing must go on before the user is warned, or the program is ended.
constexpr std::chrono::seconds before_warning{1};
constexpr std::chrono::seconds before_end{30};
constexpr std::chrono::milliseconds most_between_looks{100};

}  // namespace

std::optional<std::uint64_t> Device::end_of(std::uint64_t address) {
  const Unit* unit = unit_at(address);
  if (unit == nullptr || !unit->running) {
    return meter_->now();
  }
  return unit->waits || unit->runs_on ? std::nullopt : std::optional(unit->end);
}

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

Time Device::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  stuck_for_ = {};
  const BufferUse* const source = memory_.use_of(from);
  BufferUse* const target = memory_.use_of(to);
  Pieces written = target == nullptr ? Pieces{} : target->written;
  const ComputeUnit copier = {.kernel = "copy", .instance = "copy", .arguments = {}};
  std::vector<std::byte> piece(bytes);
  Reach reach(description_, memory_, *host_, warnings_, copier, {});
  reach.read(from, piece);
  reach.write(to, piece);
  if (source != nullptr && target != nullptr) {
    Pieces copied;
    copied.add(source->written, from, bytes, to);
    if (copied.ends().empty()) {
      target->unwritten_copy = UnwrittenCopy{to, to + bytes, source->bytes};
    }
    written.add(source->written, from, bytes, to);
    target->written = std::move(written);  // a copy of bytes that nobody wrote writes nothing
  }
  const Cost cost = timing_->copy(static_cast<std::int64_t>(bytes), description_.bank_of(from),
                                  description_.bank_of(to));
  meter_->spend(cost, "copy", copier.instance, bytes);
  return cost.total();
}

void Device::write_registers(std::uint64_t address, std::span<const std::byte> data) {
  stuck_for_ = {};
  Unit* unit = unit_at(address);
  if (unit == nullptr || data.size() < word) {
    return;  // configures a part of boards that this card lacks
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
  if ((value & ap_start) == 0) {
    return;
  }
  if (!unit.running) {
    start(unit);
  } else if (!unit.by_xrt) {
    warnings_.warn(HostFault{.kind = HostFaultKind::started_while_busy,
                             .argument = {.instance = unit.place.instance, .name = {}},
                             .by = unit.run});
  }
}

KernelOutcome Device::run(Unit& unit, StreamAccess* streams) {
  Reach reach(description_, memory_, *host_, warnings_, unit.place, unit.registers, unit.origin,
              &order_, looks_);
  unit.run = reach.run();
  ++kernel_runs_;
  if (std::exchange(unit.is_mistaken, false)) {
    warnings_.doubt(unit.run);
  }
  const bool watched = streams == nullptr && !unit.is_long;  // a kernel with streams may wait
  if (watch_ != nullptr) {
    watch_->begin(unit.place.instance, watched);
  }
  // before the run, in which the kernel may change its registers
  const std::optional<Computing> given = given_computing(unit);
  if (given) {
    note_computing(unit, *given);
  }
  const KernelRun run{
      .unit = &unit.place,
      .registers = unit.registers,
      .reach = &reach,
      .timing = timing_,
      .streams = streams,
      .computing_is =
          [this, &unit, &given](Source source) {
            if (!given) {
              note_computing(unit, {.source = source});
            }
          },
      .depths_are_unchecked = [this, &unit] { meter_->note(unit.place, "unchecked"); },
      .wants_changes = meter_->lists_events()};
  KernelOutcome outcome = unit.model->run(run);
  unit.is_long = (watch_ != nullptr && watch_->end(watched)) || unit.is_long;
  if (given) {
    outcome.compute_for(*given, streams != nullptr);
    meter_->note(unit.place, "counted");
  } else {
    note_computing(unit, outcome.computing);
  }
  return outcome;
}

/// Returns the computing time by the xclbin's formula and the arguments in the kernel's registers;
/// nothing without a formula. Throws KernelError if the formula gives no time.
std::optional<Computing> Device::given_computing(const Unit& unit) {
  const ComputeUnit& place = unit.place;
  if (place.cycles.empty()) {
    return std::nullopt;
  }
  const Pace clock = Pace::of_rate(timing_->kernel_hertz());
  const auto time = [&](const Formula& cycles) {
    return clock.of(cycles.of(unit.registers, place.arguments));
  };
  try {
    const Time most = time(place.cycles);
    const Time least = place.least_cycles.empty() ? most : time(place.least_cycles);
    if (least > most) {
      warnings_.note("range " + place.kernel,
                     "kernel " + place.kernel + " computes " + place.computing +
                         ", a range that goes backwards; the larger count is its time");
    }
    return Computing{
        .source = Source::by_user, .time = std::max(least, most), .least = std::min(least, most)};
  } catch (const std::exception& error) {
    throw KernelError("kernel '" + place.kernel + "' computes " + place.computing +
                      ", which is no time: " + error.what());
  }
}

/// Notes where the kernel's computing time comes from. If the user runs the program `as_hardware`,
/// prints at once that the time is unknown or an estimate.
void Device::note_computing(const Unit& unit, const Computing& computing) {
  meter_->note_computing(unit.place, computing);
  if (as_hardware_ && computing.source == Source::unknown) {
    warnings_.note("computing " + unit.place.kernel,
                   "kernel " + unit.place.instance +
                       ": computing not modelled, so its times are those of its memory accesses "
                       "alone, no board's");
  } else if (as_hardware_ && computing.source == Source::estimated) {
    warnings_.note(
        "computing " + unit.place.kernel,
        "kernel " + unit.place.instance + ": computing is an estimate from its source, no board's");
  }
}

/// Starts a unit that has streams to other units.
void Device::start_flow(Unit& unit, std::uint32_t times) {
  flow_.start(number_of(unit), meter_->now(), times,
              [this, &unit](StreamAccess& streams) { return run(unit, &streams); });
  unit.waits = true;
}

void Device::advance_flows() {
  for (const Dataflow::Ended& ended : flow_.advance()) {
    Unit& unit = units_[ended.unit];
    unit.waits = false;
    if (!unit.running || unit.runs_on) {
      continue;
    }
    unit.end = static_cast<std::int64_t>(ended.end - meter_->now()) > 0 ? ended.end : meter_->now();
    record_kernel(unit, ended.began, static_cast<Time>(unit.end - ended.began), ended.outcome);
  }
  publish_next_end();
}

/// Writes into the meter when the next running kernel ends.
void Device::publish_next_end() {
  const std::uint64_t now = meter_->now();
  std::uint64_t next = now + far_future_fs;
  for (const Unit& unit : units_) {
    // The signed difference is compared, because times wrap.
    if (unit.running && !unit.waits && !unit.runs_on &&
        static_cast<std::int64_t>(unit.end - next) < 0) {
      next = unit.end;
    }
  }
  meter_->next_end(next);
}

/// Warns of a deadlock: nothing of the program and nothing on the card can go on. An event from
/// outside may still end it, so the program is ended only after `before_end`.
void Device::find_deadlock() {
  const bool others = std::ranges::any_of(
      units_, [](const Unit& unit) { return unit.running && !unit.waits && !unit.runs_on; });
  const bool stuck = !others && meter_->is_program_stuck();
  if (!others && (stuck || !meter_->has_clock()) && flow_.let_compute()) {
    stuck_for_ = {};
    advance_flows();
    return;
  }
  const Duration now = real_time();
  const auto since = std::min<Duration>(now - std::exchange(looked_, now), most_between_looks);
  // XRT waits in slices, between which the program seems to run for a moment.
  stuck_for_ = stuck ? stuck_for_ + since : std::max(stuck_for_ - since, Duration::zero());
  if (!stuck || stuck_for_ < before_warning) {
    return;
  }
  const std::string who = flow_.waiting() + ", and nothing of the program goes on";
  warnings_.warn(who, who + "; a board would wait for ever");
  if (stuck_for_ > before_end) {
    throw KernelError(who + ": the program is ended");
  }
}

void Device::start(Unit& unit) {
  std::uint32_t times = 1;
  if (unit.place.auto_restart) {
    std::memcpy(&times, unit.registers.data() + restart_counter, word);
    unit.runs_on = times == std::numeric_limits<std::uint32_t>::max();
    times = unit.runs_on ? 1 : std::max(times, 1U);
  }
  if (unit.by_xrt) {
    meter_->spend(timing_->launch(static_cast<Time>(meter_->slot().waited_fs.load())), "launch",
                  unit.place.instance, 0);
  }
  if (unit.waits) {  // the last run was ended by force; runs in the queue behind it end in the same
                     // way
    unit.running = true;
    meter_->begin_kernel();
    return;
  }
  if (unit.flows) {
    // Only now, because before the card did not know the program's time.
    for (Unit& other : units_) {
      if (other.flows && !other.place.controlled) {
        start_flow(other, Dataflow::forever);
      }
    }
    start_flow(unit, unit.runs_on ? Dataflow::forever : times);
    unit.running = true;
    advance_flows();
    meter_->begin_kernel();
    return;
  }
  KernelOutcome outcome;
  for (std::uint32_t time = 0; time < times; ++time) {
    outcome += run(unit);
  }
  const Time lasts = unit.runs_on ? static_cast<Time>(far_future_fs) : outcome.duration;
  unit.running = true;
  unit.period = std::max<Time>(outcome.duration, 1);
  unit.end = meter_->now() + static_cast<std::uint64_t>(outcome.duration);
  publish_next_end();
  meter_->begin_kernel();
  record_kernel(unit, meter_->now(), lasts, outcome);
}

/// Ends a unit that restarts itself, after its current run.
void Device::stop(Unit& unit) {
  unit.runs_on = false;
  if (unit.flows) {
    flow_.stop(number_of(unit));
    advance_flows();
    return;
  }
  const auto late = static_cast<std::int64_t>(meter_->now() - unit.end);
  if (late > 0) {
    unit.end += static_cast<std::uint64_t>((late + unit.period - 1) / unit.period * unit.period);
  }
  publish_next_end();
}

std::uint32_t Device::status(Unit& unit) {
  if (!unit.running) {
    return ap_idle;
  }
  // A run that would not end by itself ends with the program or its bitstream.
  const bool ended = (unit.waits || unit.runs_on) && meter_->ending() != Ending::none;
  if (!ended && unit.waits && !unit.runs_on) {
    publish_next_end();
    find_deadlock();
    return ap_start;
  }
  if (!ended && (unit.runs_on || !meter_->poll(unit.end))) {
    return ap_start;
  }
  if (ended && unit.waits && !unit.runs_on) {
    const std::string when = meter_->ending() == Ending::program
                                 ? " when the program ends: ended with it"
                                 : " when another bitstream is loaded: ended before";
    warnings_.note("end", flow_.waiting() + when + ", as on a board");
  }
  unit.running = false;
  publish_next_end();
  meter_->end_kernel();
  return ap_done | ap_idle;
}

void Device::read_registers(std::uint64_t address, std::span<std::byte> to) {
  Unit* unit = unit_at(address);
  if (unit == nullptr) {
    return;
  }
  if (!unit->place.controlled && !unit->flows) {
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

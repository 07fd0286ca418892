#include "isthmus/card/process/device.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "isthmus/card/card.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::uint32_t ap_start = 1;
constexpr std::uint32_t ap_done = 2;
constexpr std::uint32_t ap_idle = 4;
/// Of a kernel that has none: half an hour, for times wrap.
constexpr Time far_future = Time{1} << 61;
constexpr std::size_t word = sizeof(std::uint32_t);
constexpr std::uint64_t femtoseconds_of_a_nanosecond = 1'000'000;

/// Of the unit that copies, for messages.
const ComputeUnit& copier() {
  static const ComputeUnit unit = {.kernel = "copy", .instance = "copy", .arguments = {}};
  return unit;
}

Reply acknowledged(bool done = true) {
  Reply reply;
  reply.message.number(1, done ? 1 : 0);
  return reply;
}

struct File {
  File(const std::string& name, int flags) : descriptor(open(name.c_str(), flags | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  int descriptor;
};

}  // namespace

Device::Device(Description description, Timing& timing, ProgramMemory& host, Meter& meter,
               const std::vector<std::string>& kernel_folders, bool fail_on_warning)
    : description_(std::move(description)),
      timing_(&timing),
      transfers_(timing),
      host_(&host),
      meter_(&meter),
      warnings_(fail_on_warning) {
  for (const ComputeUnit& place : description_.units) {
    Unit& unit = units_.emplace_back();
    unit.place = place;
    unit.model = make_kernel(place, kernel_folders);
    unit.registers.resize(
        static_cast<std::size_t>(std::clamp<std::uint64_t>(place.range, word, most_registers)));
  }
}

Reply Device::answer(Call call, const Message& request) {
  ++meter_->slot().calls;
  switch (call) {
    case Call::copy_to_card:
      return copy(Direction::h2d, request);
    case Call::copy_from_card:
      return copy(Direction::d2h, request);
    case Call::allocate: {
      const std::string file =
          memory_.allocate(request.number(1), request.number(2), request.number(3) != 0);
      Reply reply = acknowledged();
      if (!file.empty()) {
        reply.message.text(2, file);
      }
      return reply;
    }
    case Call::free:
      memory_.free(request.number(1));
      return acknowledged();
    case Call::write_memory:
      std::ranges::copy(request.bytes(4),
                        memory(request.number(2), request.bytes(4).size()).begin());
      return acknowledged();
    case Call::read_memory: {
      Reply reply = acknowledged();
      reply.data = memory(request.number(2), request.number(3));
      reply.message.announce(2, reply.data.size());
      return reply;
    }
    case Call::write_kernel:
      write_registers(request.number(2), request.bytes(4));
      return acknowledged();
    case Call::write_register:
      write_registers(request.number(1) + request.number(2), request.bytes(3));
      return acknowledged();
    case Call::read_kernel:
    case Call::read_register: {
      const bool old = call == Call::read_kernel;
      const std::uint64_t address = old ? request.number(2) : request.number(1) + request.number(2);
      std::vector<std::byte> data(
          static_cast<std::size_t>(std::min(request.number(3), most_registers)));
      read_registers(address, data);
      Reply reply = acknowledged();
      reply.message.bytes(2, data);
      return reply;
    }
    case Call::timestamp: {
      Reply reply;
      reply.message.number(1, meter_->now() / femtoseconds_of_a_nanosecond);
      return reply;
    }
    case Call::copy_buffer:
      return copy_with_file(Direction::d2h, request);
    case Call::copy_buffer_from_file:
      return copy_with_file(Direction::h2d, request);
    case Call::import_buffer:
      return import_file(request);
    case Call::read_counters:
    case Call::trace_count:
    case Call::read_trace:
    case Call::bus_status:
    case Call::debug_messages:
    case Call::read_stream_counters:
    case Call::read_stream_trace:
      return {};  // nothing to tell
    default:
      return acknowledged();
  }
}

/// What was allocated, or, for a program that reaches behind its buffers, new.
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
  const bool continued = pieces_.bytes > 0 && pieces_.bytes % packet_bytes == 0 &&
                         pieces_.direction == direction && pieces_.next == address &&
                         memory_.allocated_at(address) == 0;  // else another buffer begins there
  const Cost before = continued ? pieces_.cost : Cost{};
  const std::uint64_t all = bytes + (continued ? pieces_.bytes : 0);
  const std::uint64_t first = address + bytes - all;
  const Cost cost = timing_->transfer(direction, static_cast<std::int64_t>(all),
                                      static_cast<std::int64_t>(first % residence_page_bytes),
                                      description_.bank_of(first));
  pieces_ = {.direction = direction, .next = address + bytes, .bytes = all, .cost = cost};
  const Cost alone = {.simulated = cost.simulated - before.simulated,
                      .driver = cost.driver - before.driver};
  return transfers_.add(meter_->now(), direction, static_cast<std::int64_t>(bytes), alone,
                        continued);
}

Reply Device::copy(Direction direction, const Message& request) {
  const bool to_card = direction == Direction::h2d;
  const std::uint64_t bytes = to_card ? request.bytes(4).size() : request.number(5);
  const std::uint64_t address = request.number(to_card ? 3 : 4) + request.number(6);
  const std::span<std::byte> here = memory(address, bytes);
  Reply reply;
  reply.message.number(1, bytes);
  if (to_card) {
    std::ranges::copy(request.bytes(4), here.begin());
    meter_->slot().bytes_to_card += bytes;
  } else {
    reply.data = here;
    reply.message.announce(2, bytes);
    meter_->slot().bytes_from_card += bytes;
  }
  ++meter_->slot().transfers;
  meter_->spend(cost_of(direction, address, bytes), to_card ? "write" : "read", "", bytes);
  return reply;
}

/// From one card to another, by way of a file that both map.
Reply Device::copy_with_file(Direction direction, const Message& request) {
  const bool from_card = direction == Direction::d2h;
  const std::uint64_t bytes = request.number(3);
  const std::uint64_t here_offset = request.number(from_card ? 4 : 5);
  const auto there_offset = static_cast<off_t>(request.number(from_card ? 5 : 4));
  const std::span<std::byte> here = memory(request.number(1) + here_offset, bytes);
  const File file(request.text(2), from_card ? O_WRONLY : O_RDONLY);
  const ssize_t done = from_card ? pwrite(file.descriptor, here.data(), here.size(), there_offset)
                                 : pread(file.descriptor, here.data(), here.size(), there_offset);
  const std::uint64_t address = request.number(1) + here_offset;
  meter_->spend(cost_of(direction, address, bytes), "copy", "", bytes);
  return acknowledged(std::cmp_equal(done, bytes));
}

Reply Device::import_file(const Message& request) {
  const File file(request.text(1), O_RDWR);
  if (file.descriptor < 0) {
    return acknowledged(false);
  }
  memory_.import(request.number(2), request.number(3), file.descriptor);
  return acknowledged();
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

#include "isthmus/card/process/device.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "isthmus/card/card.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::uint64_t femtoseconds_of_a_nanosecond = 1'000'000;

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
               const std::vector<std::string>& kernel_folders, std::string fatal_warnings,
               bool as_hardware, HostLooks* looks, RunWatch& watch)
    : description_(std::move(description)),
      timing_(&timing),
      transfers_(timing),
      host_(&host),
      meter_(&meter),
      warnings_(std::move(fatal_warnings)),
      watch_(&watch),
      as_hardware_(as_hardware),
      looks_(looks),
      flow_(description_, timing.kernel_hertz()) {
  check_memories();
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

Reply Device::answer(Call call, const Message& request) {
  begin_call();
  switch (call) {
    case Call::copy_to_card:
      return answer_copy(Direction::h2d, request);
    case Call::copy_from_card:
      return answer_copy(Direction::d2h, request);
    case Call::allocate: {
      const std::string file =
          allocate(request.number(1), request.number(2), request.number(3) != 0);
      Reply reply = acknowledged();
      if (!file.empty()) {
        reply.message.text(2, file);
      }
      return reply;
    }
    case Call::free:
      free(request.number(1));
      return acknowledged();
    case Call::write_memory:
      note_sent(request.number(2), request.bytes(4).size());
      std::ranges::copy(request.bytes(4),
                        memory(request.number(2), request.bytes(4).size()).begin());
      return acknowledged();
    case Call::read_memory: {
      note_taken(request.number(2));
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
    case Call::close:
      tell_lost_outputs();
      return acknowledged();
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

/// Throws CardError for memory of a kind that the board lacks.
void Device::check_memories() const {
  const Board& board = timing_->board();
  for (const MemoryRange& range : description_.memories) {
    if (range.hbm && !(board.memory && board.memory->hbm)) {
      throw CardError("the xclbin has high-bandwidth memory, " + range.name + ", the board " +
                      board.name + " has none: give one that has, such as --board " + board.name +
                      ",memory.hbm=true,memory.banks=32");
    }
  }
}

/// What a driver does for a program whose clock goes by simulated time.
void Device::spend_on_software(double nanoseconds, const char* kind, std::uint64_t bytes) {
  if (meter_->has_clock() && nanoseconds > 0) {
    meter_->spend({.simulated = 0, .driver = from_nanoseconds(nanoseconds)}, kind, "", bytes);
  }
}

/// The driver pins the buffer's pages on the host, whoever allocated them.
std::string Device::allocate(std::uint64_t address, std::uint64_t bytes, bool shared) {
  stuck_for_ = {};
  const MemoryRange* range = description_.memory_of(address);
  if (range != nullptr && !range->host) {
    timing_->check_bank(description_.bank_of(address));
  }
  std::string file = memory_.allocate(address, bytes, shared);
  if (BufferUse* use = memory_.use_of(address); use != nullptr && looks_ != nullptr) {
    use->since = looks_->count();
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
  if (const BufferUse* use = memory_.use_of(address)) {
    tell_if_lost(*use);
  }
  memory_.free(address);
}

void Device::note_sent(std::uint64_t address, std::uint64_t bytes) {
  if (BufferUse* use = memory_.use_of(address)) {
    use->send(address, bytes);
  }
}

void Device::note_taken(std::uint64_t address) {
  if (BufferUse* use = memory_.use_of(address)) {
    use->take();
  }
}

/// Tells the user of a buffer that a kernel wrote for nobody, unless the program never looks at it:
/// benchmarks leave outputs alone. OpenCL does not say where a program looks: there it counts for
/// what the program has not sent.
void Device::tell_if_lost(const BufferUse& use) {
  const auto is_wanted = [&] {
    return looks_ == nullptr || looks_->has(use.begin, use.bytes, use.since) ||
           (looks_->uses_opencl() && !use.sent);
  };
  if (use.writer && use.is_lost() && is_wanted()) {
    warnings_.tell(HostFault{
        .kind = HostFaultKind::never_taken, .argument = *use.writer, .buffer_bytes = use.bytes});
  }
}

void Device::tell_lost_outputs() {
  for (const BufferUse* use : memory_.uses()) {
    tell_if_lost(*use);
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
  const bool continued = pieces_.bytes > 0 && pieces_.bytes % packet_bytes == 0 &&
                         pieces_.direction == direction && pieces_.next == address &&
                         memory_.allocated_at(address) == 0;  // else another buffer begins there
  const Cost before = continued ? pieces_.cost : Cost{};
  const std::uint64_t all = bytes + (continued ? pieces_.bytes : 0);
  const std::uint64_t first = address + bytes - all;
  const std::size_t bank = description_.bank_of(first);
  const Cost cost =
      timing_->transfer(direction, static_cast<std::int64_t>(all),
                        static_cast<std::int64_t>(first % residence_page_bytes), bank);
  pieces_ = {.direction = direction, .next = address + bytes, .bytes = all, .cost = cost};
  const Cost alone = {.simulated = cost.simulated - before.simulated,
                      .driver = cost.driver - before.driver};
  return transfers_.add(meter_->now(), direction, static_cast<std::int64_t>(bytes), bank, alone,
                        continued);
}

Reply Device::answer_copy(Direction direction, const Message& request) {
  const std::uint64_t offset = request.number(6);
  Reply reply;
  if (direction == Direction::h2d) {
    const auto data = request.bytes(4);
    copy_to_card(request.number(3) + offset, data);
    reply.message.number(1, data.size());
  } else {
    reply.data = copy_from_card(request.number(4) + offset, request.number(5));
    reply.message.number(1, reply.data.size()).announce(2, reply.data.size());
  }
  return reply;
}

void Device::copy_to_card(std::uint64_t address, std::span<const std::byte> data) {
  stuck_for_ = {};
  std::ranges::copy(data, memory(address, data.size()).begin());
  note_sent(address, data.size());
  meter_->slot().bytes_to_card += data.size();
  spend_on_transfer(Direction::h2d, address, data.size());
}

std::span<const std::byte> Device::copy_from_card(std::uint64_t address, std::uint64_t bytes) {
  stuck_for_ = {};
  const std::span<const std::byte> here = memory(address, bytes);
  note_taken(address);
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
  if (from_card) {
    note_taken(address);
  } else {
    note_sent(address, bytes);
  }
  spend_on_copy_between_cards(direction, address, bytes);
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

}  // namespace isthmus::card::process

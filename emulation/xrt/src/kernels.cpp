#include "isthmus/card/process/kernels.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "isthmus/card/unset_arguments.hpp"
#include "plugin.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
constexpr std::uint64_t first_result = 0x80;
/// Bytes of the smallest part of host memory that is tried alone, if a whole range is not there.
constexpr std::size_t least_part = 8;

/// Returns the size of the pieces in which a buffer is processed: bytes in whole words. A small
/// buffer's piece is smaller than `piece_bytes`, because a program may start a million short runs.
std::size_t largest_piece(std::uint64_t bytes) {
  const auto whole = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes));
  return (whole + word_bytes - 1) / word_bytes * word_bytes;
}

/// Calls `action(offset, bytes)` for one piece of a buffer after the other.
template <class Action>
void in_pieces(std::uint64_t bytes, const Action& action) {
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    action(at, static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - at)));
  }
}

std::uint64_t value_at(std::span<const std::byte> registers, const ArgumentPlace& place) {
  std::uint64_t value = 0;
  std::memcpy(&value, registers.data() + place.offset,
              static_cast<std::size_t>(std::min<std::uint64_t>(place.bytes, sizeof(value))));
  return value;
}

/// Returns left * right; throws KernelError if an argument is negative or the product too large.
std::uint64_t product(const KernelRun& run, std::uint64_t left, std::uint64_t right) {
  std::int64_t found = 0;
  if (__builtin_mul_overflow(left, right, &found)) {
    throw KernelError("kernel '" + run.unit->kernel +
                      "' was given a size or a count that cannot be: " + std::to_string(left) +
                      " times " + std::to_string(right));
  }
  return static_cast<std::uint64_t>(found);
}

struct Empty final : KernelModel {
  KernelOutcome run(const KernelRun& /*run*/) override { return {}; }
};

/// read_bandwidth(input0, buf_size, iter): sums the 64-bit words, the last padded with zeros.
struct ReadBandwidth final : KernelModel {
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t input = run.argument(0);
    const std::uint64_t bytes = run.argument(1);
    std::vector<std::byte> piece(largest_piece(bytes));
    std::uint64_t sum = 0;
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      run.reach->read(input + at, std::span(piece).first(size));
      std::memset(piece.data() + size, 0, std::min(word_bytes, piece.size() - size));
      for (std::size_t word_at = 0; word_at < size; word_at += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, piece.data() + word_at, word_bytes);
        sum += word;
      }
    });
    run.result(1, sum);
    return outcome_of(run, run.argument(2));
  }
};

/// write_bandwidth(output0, buf_size, iter): writes i to the 64-bit word i.
struct WriteBandwidth final : KernelModel {
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t output = run.argument(0);
    const std::uint64_t bytes = run.argument(1);
    std::vector<std::uint64_t> piece(largest_piece(bytes) / word_bytes);
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      std::uint64_t word = at / word_bytes;
      std::ranges::generate(piece, [&word] { return word++; });
      run.reach->write(output + at, std::as_bytes(std::span(piece)).first(size));
    });
    return outcome_of(run, run.argument(2));
  }
};

/// bandwidth(input0, output0, buf_size, iter): copies input0 to output0.
struct Bandwidth final : KernelModel {
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t bytes = run.argument(2);
    std::vector<std::byte> piece(largest_piece(bytes));
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      run.reach->read(run.argument(0) + at, std::span(piece).first(size));
      run.reach->write(run.argument(1) + at, std::span(piece).first(size));
    });
    return outcome_of(run, run.argument(3));
  }
};

/// vadd(in1, in2, out, size): adds `size` 32-bit elements.
struct Vadd final : KernelModel {
  KernelOutcome run(const KernelRun& run) override {
    constexpr std::size_t element = sizeof(std::uint32_t);
    const std::uint64_t bytes = product(run, run.argument(3), element);
    std::vector<std::uint32_t> left(largest_piece(bytes) / element);
    std::vector<std::uint32_t> right(largest_piece(bytes) / element);
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      const auto part = [size](std::vector<std::uint32_t>& of) {
        return std::as_writable_bytes(std::span(of)).first(size);
      };
      run.reach->read(run.argument(0) + at, part(left));
      run.reach->read(run.argument(1) + at, part(right));
      std::ranges::transform(left, right, left.begin(), std::plus<>());
      run.reach->write(run.argument(2) + at, part(left));
    });
    KernelOutcome outcome = outcome_of(run, 1);
    // The same time as in the card's own model.
    if (const auto& offload = run.timing->board().offload) {
      const double least_ns = offload->kernel_ns * static_cast<double>(run.argument(3));
      outcome.duration = std::max(outcome.duration, from_nanoseconds(least_ns));
    }
    return outcome;
  }
};

struct Known {
  std::string_view name;
  std::size_t arguments;
  std::unique_ptr<KernelModel> (*make)();
};

template <class Model>
std::unique_ptr<KernelModel> make() {
  return std::make_unique<Model>();
}

constexpr std::array known_kernels = {
    Known{"isthmus_empty", 0, make<Empty>}, Known{"read_bandwidth", 3, make<ReadBandwidth>},
    Known{"write_bandwidth", 3, make<WriteBandwidth>}, Known{"bandwidth", 4, make<Bandwidth>},
    Known{"vadd", 4, make<Vadd>}};

}  // namespace

Reach::Reach(const Description& description, CardMemory& card, ProgramMemory& host,
             Warnings& warnings, const ComputeUnit& unit, std::span<const std::byte> registers,
             const RunOrigin& origin, const RunOrder* order, HostLooks* looks)
    : description_(&description),
      card_(&card),
      host_(&host),
      warnings_(&warnings),
      unit_(&unit),
      run_(card.begin_run()),
      origin_(origin),
      order_(order),
      looks_(looks) {
  for (std::size_t index = 0; index < unit.arguments.size(); ++index) {
    const ArgumentPlace& place = unit.arguments[index];
    if (place.buffer) {
      buffers_.push_back({value_at(registers, place), &place.name, index, place.constant});
    } else if (place.bytes <= sizeof(std::uint64_t)) {
      scalars_.push_back(value_at(registers, place));
    }
  }
  std::ranges::stable_sort(buffers_, {}, &Buffer::begin);
  note_given();
  check_connections();
}

const Reach::Buffer* Reach::buffer_of(std::uint64_t address) const {
  const auto above = std::ranges::upper_bound(buffers_, address, {}, &Buffer::begin);
  return above == buffers_.begin() ? nullptr : &*std::prev(above);
}

bool Reach::of_host(std::uint64_t address) const {
  const MemoryRange* memory = description_->memory_of(address);
  return memory != nullptr && memory->host;
}

std::uint64_t Reach::bytes_at(std::uint64_t address) const {
  if (!of_host(address)) {
    return card_->bytes_at(address);
  }
  const MemoryRange& memory = *description_->memory_of(address);
  return host_->bytes_at(address, memory.bytes - (address - memory.address));
}

void Reach::count(std::uint64_t address, std::uint64_t bytes, bool writes) {
  const Buffer* buffer = buffer_of(address);
  const MemoryRange* memory = description_->memory_of(address);
  const bool host = memory != nullptr && memory->host;
  auto found = std::ranges::find_if(traffic_, [&](const Traffic& traffic) {
    return traffic.buffer == buffer && traffic.memory == memory && traffic.work.writes == writes;
  });
  if (found == traffic_.end()) {
    const PortWork work{.writes = writes,
                        .target = host ? Target::host : Target::device,
                        .bank = host ? 0 : description_->bank_of(address),
                        .page_offset = static_cast<std::int64_t>(address % residence_page_bytes)};
    found = traffic_.insert(traffic_.end(), {.buffer = buffer, .memory = memory, .work = work});
  }
  found->work.bytes += static_cast<std::int64_t>(bytes);
  if (!writes) {
    note_read(address);
  }
}

std::vector<PortWork> Reach::ports() const {
  std::vector<PortWork> ports;
  std::ranges::transform(traffic_, std::back_inserter(ports), &Traffic::work);
  return ports;
}

std::vector<Moved> Reach::moved() const {
  std::vector<Moved> all;
  all.reserve(traffic_.size());
  for (const Traffic& traffic : traffic_) {
    all.push_back({.argument = traffic.buffer == nullptr ? "" : *traffic.buffer->name,
                   .memory = traffic.memory == nullptr ? "" : traffic.memory->name,
                   .address = traffic.buffer == nullptr ? 0 : traffic.buffer->begin,
                   .work = traffic.work});
  }
  return all;
}

void Warnings::warn(const std::string& key, const std::string& text) {
  if (!fatal_file_.empty()) {
    std::ofstream(fatal_file_, std::ios::app) << text << '\n';
    throw KernelError("its first warning ends the program; the last line has it");
  }
  note(key, "warning: " + text);
}

void Warnings::warn(HostFault fault) {
  const NamedArgument& argument = fault.argument;
  if (fault.is_of_output() && not_needed_.contains(argument.instance + '.' + argument.name)) {
    return;
  }
  fault.follows = doubts(fault.by) || doubts(fault.maker) ||
                  (is_mistaken_ != nullptr && is_mistaken_(fault.start));
  if (looks_ != nullptr) {
    fault.api = looks_->uses_opencl() ? HostApi::opencl : HostApi::native;
  }
  if (fault.has_consequences()) {
    doubt(fault.by);
  }
  warn(fault.key(), fault.sentence());
}

void Warnings::note(const std::string& key, const std::string& text) {
  if (printed_.insert(key).second) {
    const std::string line = "isthmus: emulated card: " + text + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }
}

void Reach::warn(const std::string& does, const std::string& where) {
  const std::string text = "kernel " + unit_->instance + ' ' + does;
  warnings_->warn(text, text + where);
}

void Reach::warn(std::uint64_t address, std::uint64_t bytes, const char* does) {
  const Buffer* nearest = buffer_of(address);
  const std::string argument = nearest == nullptr ? "" : *nearest->name;
  std::ostringstream text;
  text << "kernel " << unit_->instance << ' ' << does << ' ' << bytes << " bytes at 0x" << std::hex
       << address << std::dec;
  if (nearest == nullptr) {
    text << ", below the buffers of all arguments";
  } else if (const std::uint64_t size = card_->allocated_at(nearest->begin); size > 0) {
    text << ", up to byte " << address + bytes - nearest->begin << " of argument " << argument
         << ", whose buffer has " << size;
  } else if (!of_host(address) && card_->bytes_at(nearest->begin) == 0) {
    text << ", of argument " << argument << ", whose address is that of no buffer (freed before?)";
  } else {
    text << ", past the end of the buffer of argument " << argument;
  }
  text << "; a board would go on";
  warnings_->warn(unit_->instance + '/' + argument + '/' + does, text.str());
}

void Reach::check_range(std::uint64_t address, std::uint64_t bytes, const char* does) const {
  const MemoryRange* memory = description_->memory_of(address);
  if (memory != nullptr && bytes <= memory->bytes - (address - memory->address)) {
    return;
  }
  const Buffer* nearest = buffer_of(address);
  if (memory == nullptr && nearest != nullptr && nearest->begin == 0) {
    std::vector<std::string> unset;
    for (const Buffer& buffer : buffers_) {
      if (buffer.begin == 0) {
        unset.push_back(std::to_string(buffer.index) + " (" + *buffer.name + ')');
      }
    }
    std::ostringstream text;
    text << "kernel " << unit_->instance << ' ' << does << ' ' << bytes << " bytes at 0x"
         << std::hex << address << ": " << unset_arguments(unset);
    throw UnsetArgumentError(text.str());
  }
  if (memory == nullptr && nearest != nullptr &&
      description_->memory_of(nearest->begin) == nullptr) {
    std::ostringstream text;
    text << "argument " << nearest->index << " (" << *nearest->name << ") is 0x" << std::hex
         << nearest->begin << ", where no memory is: give it a buffer";
    throw KernelError(text.str());
  }
  throw MemoryError(address, bytes, "kernel " + unit_->instance + " reached for no memory");
}

/// Reads host memory. If a range is not all there, tries halves of it; missing parts read as zeros.
void Reach::read_host(std::uint64_t address, std::span<std::byte> to, bool warns) {
  try {
    host_->read(address, to);
  } catch (const MemoryError&) {
    if (warns) {
      warn(address, to.size(), "reads");
    }
    if (to.size() <= least_part) {
      std::ranges::fill(to, std::byte{0});
      return;
    }
    const std::size_t half = to.size() / 2;
    read_host(address, to.first(half), warns);
    read_host(address + half, to.subspan(half), warns);
  }
}

/// Writes host memory. If a range is not all there, tries halves of it; writes to missing parts are
/// lost.
void Reach::write_host(std::uint64_t address, std::span<const std::byte> from, bool warns) {
  try {
    host_->write(address, from);
  } catch (const MemoryError&) {
    if (warns) {
      warn(address, from.size(), "writes");
    }
    if (from.size() > least_part) {
      const std::size_t half = from.size() / 2;
      write_host(address, from.first(half), warns);
      write_host(address + half, from.subspan(half), warns);
    }
  }
}

void Reach::read(std::uint64_t address, std::span<std::byte> to) {
  count(address, to.size(), false);
  if (const Pieces::Stretch first = written(address, to.size());
      !first.inside && first.end == address + to.size()) {
    reads_unwritten(address);
  }
  read_between(address, to.size());
  get(address, to, true);
}

void Reach::write(std::uint64_t address, std::span<const std::byte> from) {
  count(address, from.size(), true);
  check_constant(address);
  put(address, from, true);
}

void Reach::get(std::uint64_t address, std::span<std::byte> to, bool warns) {
  if (of_host(address)) {
    read_host(address, to, warns);
    return;
  }
  if (!card_->holds(address, to.size())) {
    check_range(address, to.size(), "reads");
    if (warns) {
      warn(address, to.size(), "reads");
    }
  }
  while (!to.empty()) {
    const std::span<const std::byte> part = card_->reach(address, to.size());
    std::ranges::copy(part, to.begin());
    to = to.subspan(part.size());
    address += part.size();
  }
}

void Reach::put(std::uint64_t address, std::span<const std::byte> from, bool warns, bool is_exact) {
  if (of_host(address)) {
    write_host(address, from, warns);
    return;
  }
  if (!card_->holds(address, from.size())) {
    check_range(address, from.size(), "writes");
    if (warns) {
      warn(address, from.size(), "writes");
    }
  }
  note_write(address, from, is_exact);
  while (!from.empty()) {
    const std::span<std::byte> part = card_->reach(address, from.size());
    std::ranges::copy(from.first(part.size()), part.begin());
    from = from.subspan(part.size());
    address += part.size();
  }
}

std::uint64_t KernelRun::argument(std::size_t index) const {
  return value_at(registers, unit->arguments.at(index));
}

void KernelRun::result(std::size_t index, std::uint64_t value) const {
  const std::uint64_t offset = first_result + index * sizeof(value);
  const bool free = std::ranges::none_of(unit->arguments, [](const ArgumentPlace& place) {
    return place.offset + place.bytes > first_result;
  });
  if (free && offset + sizeof(value) <= registers.size()) {
    std::memcpy(registers.data() + offset, &value, sizeof(value));
  }
}

KernelOutcome outcome_of(const KernelRun& run, std::uint64_t sweeps) {
  const std::vector<PortWork> ports = run.reach->ports();
  std::uint64_t bytes = 0;
  for (const PortWork& port : ports) {
    bytes += static_cast<std::uint64_t>(port.bytes);
  }
  bytes = product(run, bytes, sweeps);
  const Time memory = run.timing->kernel(ports, static_cast<std::int64_t>(sweeps));
  return {.duration = memory,
          .bytes = bytes,
          .memory = memory,
          .moved = run.reach->moved(),
          .sweeps = static_cast<std::int64_t>(sweeps)};
}

std::unique_ptr<KernelModel> make_kernel(const ComputeUnit& unit,
                                         const std::vector<std::string>& folders) {
  if (auto plugin = load_plugin(unit.kernel, folders)) {
    return plugin;
  }
  const auto* found = std::ranges::find(known_kernels, unit.kernel, &Known::name);
  if (found == known_kernels.end()) {
    std::string names;
    for (const Known& known : known_kernels) {
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    throw KernelError("the emulated card has no kernel '" + unit.kernel + "'; it has " + names +
                      ", and those that --kernels FOLDER brings as NAME.so");
  }
  if (unit.arguments.size() < found->arguments) {
    throw KernelError("kernel '" + unit.kernel + "' has " + std::to_string(found->arguments) +
                      " arguments, in the xclbin only " + std::to_string(unit.arguments.size()));
  }
  return found->make();
}

}  // namespace isthmus::card::process

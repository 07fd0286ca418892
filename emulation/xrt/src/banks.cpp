// Compares the memories of an xclbin with those of the board, and buffers with the memories that
// the design connects with kernels' arguments.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/card/card.hpp"
#include "isthmus/card/process/device.hpp"

namespace isthmus::card::process {
namespace {

/// Pseudo-channels of HBM, whose numbers come before those of DDR (AMD UG1393, HBM Configuration
/// and Use).
constexpr std::size_t most_hbm = 32;

/// Returns the board's banks of one kind as text: "HBM[0] to HBM[31]".
std::string text_of(const std::string& kind, std::size_t count) {
  const std::string first = kind + "[0]";
  return count == 1 ? first : first + " to " + kind + '[' + std::to_string(count - 1) + ']';
}

/// Returns a text like "23.4 us".
std::string text_of(Time time) {
  constexpr double femtoseconds_of_a_microsecond = 1e9;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g us",
                static_cast<double>(time) / femtoseconds_of_a_microsecond);
  return text.data();
}

}  // namespace

std::optional<std::size_t> MemoryRange::number_of_ddr() const {
  constexpr std::string_view prefix = "DDR[";
  if (!name.starts_with(prefix) || !name.ends_with(']')) {
    return std::nullopt;
  }
  std::size_t number = 0;
  const char* const end = name.data() + name.size() - 1;
  const auto [read, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && read == end ? std::optional(number) : std::nullopt;
}

std::string Description::names_of(const ArgumentPlace& argument) const {
  std::string names;
  for (const std::size_t memory : argument.memories) {
    names += (names.empty() ? "" : " and ") + memories[memory].name;
  }
  return names;
}

void Device::check_memory(const MemoryRange& range) const {
  const Board& board = timing_->board();
  if (range.host || range.chip || !board.memory) {
    return;
  }
  const auto banks = static_cast<std::size_t>(board.memory->banks);
  const std::size_t bank = description_.bank_of(range.address);
  const std::size_t hbm = board.memory->hbm ? std::min(banks, most_hbm) : 0;
  if (hbm > 0 && range.number_of_ddr() && bank >= banks) {
    throw CardError("the design uses " + range.name + ", which the board " + board.name +
                    " lacks: it has " + text_of("HBM", hbm) +
                    (banks > hbm ? " and " + text_of("DDR", banks - hbm) : "") +
                    "; connect the argument with one of these by sp= below [connectivity]");
  }
  timing_->check_bank(bank, range.name);
}

void Device::check_memories() {
  const Board& board = timing_->board();
  if (board.memory && board.memory->hbm &&
      std::ranges::none_of(description_.memories, &MemoryRange::hbm)) {
    description_.before_ddr = std::min(static_cast<std::size_t>(board.memory->banks), most_hbm);
  }
  for (const MemoryRange& range : description_.memories) {
    if (range.hbm && !(board.memory && board.memory->hbm)) {
      throw CardError("the xclbin has high-bandwidth memory, " + range.name + ", the board " +
                      board.name + " has none: give one that has, such as --board " + board.name +
                      ",memory.hbm=true,memory.banks=32");
    }
  }
  for (const ComputeUnit& unit : description_.units) {
    for (const ArgumentPlace& argument : unit.arguments) {
      for (const std::size_t memory : argument.memories) {
        check_memory(description_.memories[memory]);
      }
    }
  }
}

/// Warns of each argument whose buffer lies in a memory that the design does not connect with it.
void Reach::check_connections() const {
  for (const Buffer& buffer : buffers_) {
    const ArgumentPlace& place = unit_->arguments[buffer.index];
    const MemoryRange* memory = description_->memory_of(buffer.begin);
    if (memory == nullptr || place.memories.empty() ||
        place.reaches(description_->number_of(*memory))) {
      continue;
    }
    const std::string where = unit_->instance + '.' + place.name;
    const std::string other =
        memory->host ? "make the buffer without host_only"
                     : "make the buffer with kernel.group_id(" + std::to_string(buffer.index) + ')';
    std::string text = "kernel ";
    text.append(unit_->instance).append(" gets a buffer in ").append(memory->name);
    text.append(" for ").append(text_of(NamedArgument{unit_->instance, place.name, buffer.index}));
    text.append(", which the design connects with ").append(description_->names_of(place));
    text.append(" alone, so that on a board the kernel does not reach the buffer; write sp=");
    text.append(where).append(":").append(memory->name);
    text.append(" below [connectivity] of a configuration and build with --config, or ");
    text.append(other);
    warnings_->warn("unconnected/" + where, text);
  }
}

void Device::note_local_copy(const LocalCopy& copy) {
  BufferUse* const source = memory_.use_of(copy.from);
  BufferUse* const target = memory_.use_of(copy.to);
  const MemoryRange* const in = description_.memory_of(copy.from);
  const MemoryRange* const connected = description_.memory_of(copy.to);
  if (source == nullptr || target == nullptr || in == nullptr || connected == nullptr) {
    return;
  }
  const auto is_connected = [&](const Unit& unit) {
    return unit.place.kernel == copy.kernel && copy.argument < unit.place.arguments.size() &&
           unit.place.arguments[copy.argument].reaches(description_.number_of(*connected));
  };
  const auto unit = std::ranges::find_if(units_, is_connected);
  if (unit == units_.end()) {
    return;
  }
  source->has_local_copy = true;
  target->is_local_copy = true;
  target->sent = source->sent;
  const ArgumentPlace& argument = unit->place.arguments[copy.argument];
  std::string exchange;
  for (const ArgumentPlace& other : unit->place.arguments) {
    if (exchange.empty() && &other != &argument && !other.memories.empty() &&
        other.reaches(description_.number_of(*in))) {
      exchange = ", or, as " + in->name + " is the memory of argument " + other.name +
                 ", exchange the two";
    }
  }
  const std::string lost = argument.constant
                               ? "data that the program sends later do not reach the copy"
                               : "what the kernel writes does not reach the program's buffer";
  warnings_.warn("local copy/" + copy.kernel + '/' + argument.name,
                 text_of(NamedArgument{unit->place.instance, argument.name, copy.argument}) +
                     " of kernel " + copy.kernel + " gets a buffer in " + in->name +
                     ", and is connected with " + connected->name +
                     ": each set_arg makes XRT copy the buffer's " + std::to_string(copy.bytes) +
                     " bytes to " + connected->name + ", in " + text_of(copy.duration) +
                     ", and the kernel uses this copy; " + lost +
                     "; make the buffer with kernel.group_id(" + std::to_string(copy.argument) +
                     ')' + exchange);
}

/// Warns if the program read a buffer from the card, after a kernel ran, in which nobody ever
/// wrote. Call it at the buffer's end. A buffer that some byte was written to gives no warning,
/// because programs often read back whole buffers of which kernels fill a part. Behind a run that
/// was used wrongly there is none either, because the empty buffer may follow from that mistake.
void Device::warn_if_never_written(const BufferUse& use) {
  if (!use.taken_unwritten || !use.written.ends().empty() || use.has_local_copy ||
      warnings_.has_doubts() || looks_ == nullptr ||
      !looks_->has(use.begin, use.bytes, use.since)) {
    return;
  }
  if (use.given) {
    warnings_.warn(HostFault{.kind = HostFaultKind::never_written,
                             .argument = *use.given,
                             .buffer_bytes = use.bytes,
                             .by = use.maker});
    return;
  }
  warnings_.warn("never written", "the program reads a buffer of " + std::to_string(use.bytes) +
                                      " bytes from the card, which neither the program nor a "
                                      "kernel ever wrote; set it as an argument of the kernel that "
                                      "should write it");
}

}  // namespace isthmus::card::process

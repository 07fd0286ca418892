// Compares the memories of an xclbin with those of the board, and buffers with the memories that the
// design connects with kernels' arguments.
#include <algorithm>
#include <charconv>
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

/// Returns N of a memory's name DDR[N]; nothing for other names.
std::optional<std::size_t> number_of_ddr(std::string_view name) {
  constexpr std::string_view prefix = "DDR[";
  if (!name.starts_with(prefix) || !name.ends_with(']')) {
    return std::nullopt;
  }
  std::size_t number = 0;
  const char* const end = name.data() + name.size() - 1;
  const auto [read, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && read == end ? std::optional(number) : std::nullopt;
}

/// Returns the board's banks of one kind as text: "HBM[0] to HBM[31]".
std::string banks_of_kind(const std::string& kind, std::size_t count) {
  const std::string first = kind + "[0]";
  return count == 1 ? first : first + " to " + kind + '[' + std::to_string(count - 1) + ']';
}

}  // namespace

void Device::check_memory(const MemoryRange& range) const {
  const Board& board = timing_->board();
  if (range.host || range.chip || !board.memory) {
    return;
  }
  const auto banks = static_cast<std::size_t>(board.memory->banks);
  const std::optional<std::size_t> ddr = number_of_ddr(range.name);
  if (board.memory->hbm && ddr) {
    const std::size_t hbm = std::min(banks, most_hbm);
    if (*ddr >= banks - hbm) {
      throw CardError("the design uses " + range.name + ", which the board " + board.name +
                      " lacks: it has " + banks_of_kind("HBM", hbm) +
                      (banks > hbm ? " and " + banks_of_kind("DDR", banks - hbm) : "") +
                      "; connect the argument with one of these (sp)");
    }
    return;
  }
  timing_->check_bank(description_.bank_of(range.address));
}

void Device::check_memories() const {
  const Board& board = timing_->board();
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

}  // namespace isthmus::card::process

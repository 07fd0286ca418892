// Parses an xclbin's description of the card: its memories, kernels and streams (written by
// emulation/python/isthmus_emulation/xclbin/card.py).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/process/cycles.hpp"

namespace isthmus::card::process {

class DescriptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Most bytes of registers of a kernel, whose address range may be larger.
inline constexpr std::uint64_t most_registers = std::uint64_t{64} << 10U;

struct MemoryRange {
  bool host = false;  ///< the program's memory, not the card's
  bool hbm = false;   ///< the card's high-bandwidth memory
  bool chip = false;  ///< memory in the card's FPGA
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string name;

  /// Returns N of the name DDR[N]; nothing for other names (banks.cpp).
  [[nodiscard]] std::optional<std::size_t> number_of_ddr() const;
};

struct ArgumentPlace {
  bool buffer = false;  ///< whether the value is a buffer's address
  /// Whether it is a const pointer, through which the kernel must not write.
  bool constant = false;
  bool is_volatile = false;  ///< whether it is a volatile pointer, by which kernels may wait
  std::uint64_t offset = 0;  ///< position of the argument's register
  std::uint64_t bytes = 0;
  std::string name;
  /// Numbers of the memories that the design connects with the argument; empty if unknown.
  std::vector<std::size_t> memories{};

  [[nodiscard]] bool reaches(std::size_t memory) const {
    return memories.empty() || std::ranges::find(memories, memory) != memories.end();
  }
};

/// One instance of a kernel.
struct ComputeUnit {
  std::string kernel;
  std::string instance;
  std::uint64_t address = 0;
  std::uint64_t range = 0;
  std::vector<ArgumentPlace> arguments;
  bool controlled = true;     ///< whether a register at offset 0 starts it; else it always runs
  bool auto_restart = false;  ///< whether `restart_counter` holds its number of runs
  Formula cycles{};           ///< cycles of a run; empty if unknown
  Formula least_cycles{};     ///< lower end of a range of cycles; empty without a range
  std::string computing{};    ///< the cycles as messages show them: "n*4+120 cycles (given)"
};

/// Offset of the register to which XRT writes the number of runs.
inline constexpr std::uint64_t restart_counter = 0x10;

/// A stream between two units: numbers of the units and of their arguments.
struct StreamPlace {
  std::size_t producer = 0;
  std::size_t producer_argument = 0;
  std::size_t consumer = 0;
  std::size_t consumer_argument = 0;
  std::size_t depth = 0;  ///< words that the stream holds
  std::string name;       ///< such as "fetch_1.out:store_1.in"
};
inline constexpr std::size_t most_depth = std::size_t{1} << 20U;

struct Description {
  std::uint64_t clock_mhz = 0;  ///< clock for which kernels are built; 0: the usual one
  std::vector<MemoryRange> memories;
  std::vector<ComputeUnit> units;
  std::vector<StreamPlace> streams;
  /// Banks that the board has before DDR[0] and that the description does not list.
  std::size_t before_ddr = 0;

  /// Parses a description. Throws DescriptionError for any other text.
  static Description parse(std::istream& text);

  /// Returns the memory that contains an address, or null.
  [[nodiscard]] const MemoryRange* memory_of(std::uint64_t address) const;
  /// Returns the number of the bank that contains an address. DDR behind HBM continues HBM's
  /// numbers, listed or not: bank 32 follows 32 banks of HBM. Memory in the FPGA has numbers of its
  /// own.
  [[nodiscard]] std::size_t bank_of(std::uint64_t address) const;
  /// Returns the number of one of `memories`.
  [[nodiscard]] std::size_t number_of(const MemoryRange& memory) const {
    return static_cast<std::size_t>(&memory - memories.data());
  }
  /// Returns the names of the memories that an argument reaches: "DDR[0] and HOST[0]" (banks.cpp).
  [[nodiscard]] std::string names_of(const ArgumentPlace& argument) const;
  /// Returns whether a unit has streams to other units.
  [[nodiscard]] bool has_streams(std::size_t unit) const;
};

/// Parses lines of "key=value". Throws DescriptionError for other lines.
Parameters parse_parameters(std::istream& text);

}  // namespace isthmus::card::process

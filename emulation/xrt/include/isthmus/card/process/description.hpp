// What is on the card: the text that Isthmus writes into its xclbins
// (emulation/python/isthmus_emulation/xclbin/card.py).
#pragma once

#include <cstdint>
#include <istream>
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

/// Most bytes of registers that a kernel has; its address range may be larger.
inline constexpr std::uint64_t most_registers = std::uint64_t{64} << 10U;

struct MemoryRange {
  bool host = false;  ///< memory of the program, else of the card
  bool hbm = false;   ///< high-bandwidth memory of the card
  bool chip = false;  ///< memory in the card's FPGA
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string name;
};

struct ArgumentPlace {
  bool buffer = false;       ///< the value is an address; else a value or a stream
  bool constant = false;     ///< a const pointer: the kernel must not write through it
  std::uint64_t offset = 0;  ///< offset of its register
  std::uint64_t bytes = 0;
  std::string name;
};

/// One instance of a kernel.
struct ComputeUnit {
  std::string kernel;
  std::string instance;
  std::uint64_t address = 0;
  std::uint64_t range = 0;
  std::vector<ArgumentPlace> arguments;
  bool controlled = true;     ///< a register at offset 0 starts it; else it runs all the time
  bool auto_restart = false;  ///< has a number of runs at `restart_counter`
  Formula cycles{};           ///< cycles that a run computes; empty if unknown
  Formula least_cycles{};     ///< the lower end of a range of cycles, else empty
  std::string computing{};    ///< the cycles as the user reads them: "n*4+120 cycles (given)"
};

/// Register to which XRT writes the number of runs.
inline constexpr std::uint64_t restart_counter = 0x10;

/// A stream from a unit to a unit: the numbers of the units and of their arguments.
struct StreamPlace {
  std::size_t producer = 0;
  std::size_t producer_argument = 0;
  std::size_t consumer = 0;
  std::size_t consumer_argument = 0;
  std::size_t depth = 0;  ///< capacity in words
  std::string name;       ///< "fetch_1.out:store_1.in"
};
inline constexpr std::size_t most_depth = std::size_t{1} << 20U;

struct Description {
  std::uint64_t clock_mhz = 0;  ///< that kernels are built for, where it is not the usual one
  std::vector<MemoryRange> memories;
  std::vector<ComputeUnit> units;
  std::vector<StreamPlace> streams;

  /// Parses a description. Throws DescriptionError for any other text.
  static Description parse(std::istream& text);

  /// Returns the memory in which an address lies, or null.
  [[nodiscard]] const MemoryRange* memory_of(std::uint64_t address) const;
  /// Returns the number of the address's bank, HBM and DDR together: 32 is the first bank of DDR
  /// behind 32 of HBM. Memory in the FPGA has separate numbers.
  [[nodiscard]] std::size_t bank_of(std::uint64_t address) const;
  /// Whether a unit has streams to other units.
  [[nodiscard]] bool has_streams(std::size_t unit) const;
};

/// Parses lines of "key=value". Throws DescriptionError.
Parameters parse_parameters(std::istream& text);

}  // namespace isthmus::card::process

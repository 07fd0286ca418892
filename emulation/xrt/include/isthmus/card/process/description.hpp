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

/// Bytes of registers that a kernel has at most, however large its range.
inline constexpr std::uint64_t most_registers = std::uint64_t{64} << 10U;

struct MemoryRange {
  bool host = false;  ///< the program's memory, else the card's
  bool hbm = false;   ///< high-bandwidth memory of the card's
  bool chip = false;  ///< within its FPGA
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string name;
};

struct ArgumentPlace {
  bool buffer = false;       ///< an address, else a value or a stream
  bool constant = false;     ///< of a buffer: declared const, so the kernel must not write there
  std::uint64_t offset = 0;  ///< of its register
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
  bool controlled = true;     ///< by a register at offset 0; else it runs all the time
  bool auto_restart = false;  ///< has a count of restarts, at `restart_counter`
  Formula cycles{};           ///< that a run computes; empty if unknown
  Formula least_cycles{};     ///< the lower end of a range of cycles, else empty
  std::string computing{};    ///< the cycles as the user reads them: "n*4+120 cycles (given)"
};

/// Where XRT writes how often a kernel is to run.
inline constexpr std::uint64_t restart_counter = 0x10;

/// A stream from one unit to another, or to itself: numbers of units, and of arguments of theirs.
struct StreamPlace {
  std::size_t producer = 0;
  std::size_t producer_argument = 0;
  std::size_t consumer = 0;
  std::size_t consumer_argument = 0;
  std::size_t depth = 0;  ///< words that it holds
  std::string name;       ///< "fetch_1.out:store_1.in"
};
inline constexpr std::size_t most_depth = std::size_t{1} << 20U;

struct Description {
  std::uint64_t clock_mhz = 0;  ///< that kernels are built for, where it is not the usual one
  std::vector<MemoryRange> memories;
  std::vector<ComputeUnit> units;
  std::vector<StreamPlace> streams;

  /// Throws DescriptionError for a text that is none.
  static Description parse(std::istream& text);

  /// Memory that an address lies in; null where none is.
  [[nodiscard]] const MemoryRange* memory_of(std::uint64_t address) const;
  /// Its number among those of the card, HBM and DDR together: 32 is the first DDR behind 32 of
  /// HBM. Memory within the FPGA is numbered apart.
  [[nodiscard]] std::size_t bank_of(std::uint64_t address) const;
  /// Whether a unit has streams to others.
  [[nodiscard]] bool has_streams(std::size_t unit) const;
};

/// "key=value" lines. Throws DescriptionError.
Parameters parse_parameters(std::istream& text);

}  // namespace isthmus::card::process

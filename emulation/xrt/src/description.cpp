#include "isthmus/card/process/description.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace isthmus::card::process {
namespace {

constexpr const char* first_line = "isthmus.card/1";
constexpr std::size_t most_lines = 10'000;
constexpr std::uint64_t most_range = std::uint64_t{1} << 24U;

[[noreturn]] void refuse(const std::string& line) {
  throw DescriptionError("what the xclbin says of the card is damaged: '" + line + "'");
}

/// Reads the words of a line; the last word may contain spaces.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line), words_(line) {}

  std::string word() {
    std::string found;
    if (!(words_ >> found)) {
      refuse(line_);
    }
    return found;
  }
  bool either(const std::string& yes, const std::string& no) {
    const std::string found = word();
    if (found != yes && found != no) {
      refuse(line_);
    }
    return found == yes;
  }
  std::uint64_t number() {
    std::uint64_t found = 0;
    if (!(words_ >> found)) {
      refuse(line_);
    }
    return found;
  }
  /// Reads the numbers up to the line's end, at least one.
  std::vector<std::size_t> numbers() {
    std::vector<std::size_t> found;
    do {
      found.push_back(number());
    } while (!(words_ >> std::ws).eof());
    return found;
  }
  std::string rest() {
    std::string found;
    if (!std::getline(words_ >> std::ws, found)) {
      refuse(line_);
    }
    return found;
  }

 private:
  const std::string& line_;
  std::istringstream words_;
};

ArgumentPlace argument(Words& words, const ComputeUnit& unit, const std::string& line) {
  ArgumentPlace found;
  const std::string kind = words.word();
  if (kind != "buffer" && kind != "constant" && kind != "volatile" && kind != "value" &&
      kind != "stream") {
    refuse(line);
  }
  found.constant = kind == "constant";
  found.is_volatile = kind == "volatile";
  found.buffer = kind == "buffer" || found.constant || found.is_volatile;
  found.offset = words.number();
  found.bytes = words.number();
  found.name = words.rest();
  const std::uint64_t registers = std::min(unit.range, most_registers);
  if (found.offset > registers || found.bytes > registers - found.offset) {
    refuse(line);
  }
  return found;
}

StreamPlace stream(Words& words, const std::vector<ComputeUnit>& units, const std::string& line) {
  const auto unit = [&] {
    const auto found = std::ranges::find(units, words.word(), &ComputeUnit::instance);
    if (found == units.end()) {
      refuse(line);
    }
    return static_cast<std::size_t>(found - units.begin());
  };
  StreamPlace found;
  found.producer = unit();
  found.producer_argument = words.number();
  found.consumer = unit();
  found.consumer_argument = words.number();
  found.depth = words.number();
  found.name = words.rest();
  if (found.depth == 0 || found.depth > most_depth) {
    refuse(line);
  }
  return found;
}

/// Parses a line about a memory: its kind, address, bytes and name.
MemoryRange memory(Words& words, const std::string& line) {
  MemoryRange found;
  const std::string kind = words.word();
  found.host = kind == "host";
  found.hbm = kind == "hbm";
  found.chip = kind == "chip";
  if (!found.host && !found.hbm && !found.chip && kind != "card") {
    refuse(line);
  }
  found.address = words.number();
  found.bytes = words.number();
  found.name = words.rest();
  return found;
}

/// Parses a line about a kernel: its name, its instance and the range of its registers.
ComputeUnit kernel(Words& words, const std::string& line) {
  ComputeUnit found;
  found.kernel = words.word();
  found.instance = words.word();
  found.address = words.number();
  found.range = words.number();
  if (found.range > most_range) {
    refuse(line);
  }
  return found;
}

/// Parses which memories the argument above the line reaches.
void reaches(ComputeUnit& unit, Words& words, const std::string& line, std::size_t memories) {
  if (unit.arguments.empty()) {
    refuse(line);
  }
  std::vector<std::size_t> found = words.numbers();
  if (std::ranges::any_of(found, [&](std::size_t memory) { return memory >= memories; })) {
    refuse(line);
  }
  unit.arguments.back().memories = std::move(found);
}

/// Adds what a line says about the kernel above it.
void describe(ComputeUnit& unit, const std::string& what, Words& words, const std::string& line) {
  if (what == "free") {
    unit.controlled = false;
  } else if (what == "restarts") {
    unit.auto_restart = true;
  } else if (what == "cycles") {
    unit.cycles = Formula::parse(words.rest());
  } else if (what == "least") {
    unit.least_cycles = Formula::parse(words.rest());
  } else if (what == "computing") {
    unit.computing = words.rest();
  } else if (what == "argument") {
    unit.arguments.push_back(argument(words, unit, line));
  } else {
    refuse(line);
  }
}

}  // namespace

Description Description::parse(std::istream& text) {
  std::string line;
  if (!std::getline(text, line) || line != first_line) {
    throw DescriptionError(
        "this xclbin does not say what is on an emulated card; make one with isthmus card xclbin");
  }
  Description found;
  for (std::size_t count = 0; std::getline(text, line); ++count) {
    if (count == most_lines) {
      refuse(line);
    }
    Words words(line);
    const std::string what = words.word();
    if (what == "clock") {
      found.clock_mhz = words.number();
    } else if (what == "memory") {
      found.memories.push_back(memory(words, line));
    } else if (what == "kernel") {
      found.units.push_back(kernel(words, line));
    } else if (what == "stream") {
      found.streams.push_back(stream(words, found.units, line));
    } else if (what == "end") {
      for (const ComputeUnit& unit : found.units) {
        unit.cycles.check(unit.arguments);
        unit.least_cycles.check(unit.arguments);
      }
      return found;
    } else if (found.units.empty()) {
      refuse(line);
    } else if (what == "reaches") {
      reaches(found.units.back(), words, line, found.memories.size());
    } else {
      describe(found.units.back(), what, words, line);
    }
  }
  refuse("it ends too early");
}

const MemoryRange* Description::memory_of(std::uint64_t address) const {
  const auto found = std::ranges::find_if(memories, [address](const MemoryRange& memory) {
    return address >= memory.address && address - memory.address < memory.bytes;
  });
  return found == memories.end() ? nullptr : &*found;
}

std::size_t Description::bank_of(std::uint64_t address) const {
  const MemoryRange* memory = memory_of(address);
  std::size_t bank = memory != nullptr && memory->number_of_ddr() ? before_ddr : 0;
  for (const MemoryRange& other : memories) {
    if (&other == memory) {
      break;
    }
    const bool of_its_kind = memory == nullptr || memory->chip == other.chip;
    bank += !other.host && of_its_kind ? 1 : 0;
  }
  return bank;
}

bool Description::has_streams(std::size_t unit) const {
  return std::ranges::any_of(streams, [unit](const StreamPlace& stream) {
    return stream.producer == unit || stream.consumer == unit;
  });
}

Parameters parse_parameters(std::istream& text) {
  Parameters found;
  for (std::string line; std::getline(text, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw DescriptionError("no parameter of a board: '" + line + "'");
    }
    found[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return found;
}

}  // namespace isthmus::card::process

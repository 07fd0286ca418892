// Accesses of the program and of kernels to a buffer in the card's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/card/pieces.hpp"

namespace isthmus::card::process {

/// An argument of a kernel's instance, as a message names it.
struct NamedArgument {
  std::string instance;
  std::string name;
  std::size_t index = 0;
};

struct BufferUse {
  std::uint64_t begin = 0;  ///< its address
  std::uint64_t bytes = 0;
  Pieces written{};         ///< addresses to which the program or a kernel has written
  std::uint32_t since = 0;  ///< number of the program's looks when the buffer was made
  bool sent = false;        ///< the program has written a part of it
  bool taken = false;       ///< the program has read a part of it, after a kernel wrote
  bool passed_on = false;   ///< another run has read a part of it, after a kernel wrote
  /// Argument through which a kernel last wrote to it, and the number of that run.
  std::optional<NamedArgument> writer{};
  std::uint64_t run = 0;
  std::uint64_t start = 0;  ///< number of the program's start of that run; 0: not watched
  /// First address that this run wrote to, and the address behind the last.
  std::uint64_t latest_begin = 0;
  std::uint64_t latest_end = 0;

  void send(std::uint64_t address, std::uint64_t size) {
    written.add(address, address + size);
    sent = true;
  }
  void note_writer(NamedArgument by, std::uint64_t of_run, std::uint64_t of_start,
                   std::uint64_t address, std::uint64_t size) {
    const bool is_same = writer.has_value() && run == of_run;
    latest_begin = is_same ? std::min(latest_begin, address) : address;
    latest_end = is_same ? std::max(latest_end, address + size) : address + size;
    writer = std::move(by);
    run = of_run;
    start = of_start;
  }
  void take() { taken = taken || writer.has_value(); }
  void read_by(std::uint64_t reader) {
    passed_on = passed_on || (writer.has_value() && reader != run);
  }
  /// Whether a kernel wrote to it, and neither the program nor another run has read the data.
  [[nodiscard]] bool is_lost() const { return writer.has_value() && !taken && !passed_on; }
};

}  // namespace isthmus::card::process

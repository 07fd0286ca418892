// Accesses of the program and of kernels to a buffer in the card's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/pieces.hpp"

namespace isthmus::card::process {

/// An argument of a kernel's instance, as a message names it.
struct NamedArgument {
  std::string instance;
  std::string name;
  std::size_t index = 0;
};

/// A run that has read a buffer.
struct BufferReader {
  NamedArgument argument;
  std::uint64_t run = 0;    ///< its number
  std::uint64_t start = 0;  ///< number of the program's start of the run
  Pieces read{};            ///< addresses that it read
};

/// What the latest run has written to a buffer.
struct BufferOutput {
  NamedArgument writer;
  std::uint64_t run = 0;    ///< its number
  std::uint64_t start = 0;  ///< number of the program's start of that run; 0: nobody watches it
  Pieces written{};         ///< addresses that it wrote to
  bool fresh = false;       ///< the program has sent data since it read the buffer last
  std::uint32_t since = 0;  ///< number of the program's looks when the run wrote first
  Pieces taken{};           ///< addresses that the program has read since
  bool passed_on = false;   ///< another run has read some of it since

  [[nodiscard]] std::uint64_t taken_bytes() const { return taken.count(written); }
};

struct BufferUse {
  std::uint64_t begin = 0;  ///< its address
  std::uint64_t bytes = 0;
  Pieces written{};         ///< addresses to which the program or a kernel has written
  std::uint32_t since = 0;  ///< number of the program's looks when the buffer was made
  bool sent = false;        ///< the program has written some of it
  /// Number of the program's latest start when it wrote new data last, while runs waited for their
  /// start; then the addresses of these data.
  std::uint64_t sent_after = 0;
  Pieces sent_data{};
  std::vector<BufferReader> readers{};  ///< runs whose end the program may not have seen
  std::uint64_t maker = 0;  ///< run that got the buffer to write to it, as the card counts; 0: none
  std::optional<BufferOutput> output{};
  unsigned runs = 0;        ///< that wrote to it, before that of `output`
  unsigned taken_runs = 0;  ///< of these, those whose output the program read, at least in part
  unsigned lost_runs = 0;   ///< of these, fresh ones whose output nobody read
  unsigned lost_run = 0;    ///< number of the last lost run
  std::uint64_t sends_at_take = 0;  ///< number of the program's transfers when it read last

  void send(std::uint64_t address, std::uint64_t size) {
    written.add(address, address + size);
    sent = true;
    maker = 0;
  }
  void take(std::uint64_t address, std::uint64_t size, std::uint64_t sends) {
    sends_at_take = sends;
    if (output) {
      output->taken.add(address, address + size);
    }
  }
  void read_by(std::uint64_t reader) {
    if (output && reader != output->run) {
      output->passed_on = true;
    }
  }
  /// Counts the run of `output`, after which another one writes.
  void end_output() {
    if (!output) {
      return;
    }
    ++runs;
    if (output->taken_bytes() > 0) {
      ++taken_runs;
    } else if (output->fresh && !output->passed_on) {
      ++lost_runs;
      lost_run = runs;
    }
    output.reset();
  }
};

}  // namespace isthmus::card::process

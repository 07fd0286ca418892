// What a run of a kernel took, and how that is known.
#pragma once

#include <algorithm>
#include <cstdint>

#include "isthmus/card/time.hpp"

namespace isthmus::card::process {

/// How it is known what a kernel's computing takes.
enum class Source : std::uint8_t {
  by_model,  ///< the kernel says it: a module in Verilog, the card's own, a plug-in with cycles
  by_user,   ///< the xclbin says it: a formula, or a report of Vitis HLS
  unknown    ///< nobody does: only what the kernel reads and writes takes time
};

/// What a kernel's computing takes.
struct Computing {
  Source source = Source::by_model;
  Time time = 0;   ///< where the user says it
  Time least = 0;  ///< less than `time` where the user gives a range
};

struct KernelOutcome {
  Time duration = 0;
  std::uint64_t bytes = 0;  ///< read and written, each sweep counted
  Time logic = 0;           ///< what it takes beside memory
  Time memory = 0;          ///< what its reads and writes take
  Computing computing{};

  /// The kernel computes for so long, while its memory works. `logic` counts where streams have
  /// paced the run by it.
  void compute_for(const Computing& given, bool has_streams) {
    computing = given;
    duration = std::max(memory, given.time);
    if (has_streams) {
      duration = std::max(duration, logic);
    }
  }
  /// A run of the same kernel behind this one.
  KernelOutcome& operator+=(const KernelOutcome& next) {
    duration += next.duration;
    bytes += next.bytes;
    logic += next.logic;
    memory += next.memory;
    computing.source = next.computing.source;
    computing.time += next.computing.time;
    computing.least += next.computing.least;
    return *this;
  }
};

}  // namespace isthmus::card::process

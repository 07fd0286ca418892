// The time that a run of a kernel took, and the source of that time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/card/kernel.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card::process {

/// Source of a kernel's computing time.
enum class Source : std::uint8_t {
  by_model,   ///< from the kernel: Verilog, a kernel of the card, a plug-in with cycles
  by_user,    ///< from the xclbin: a formula, or a report of Vitis HLS
  estimated,  ///< from the kernel's source, by the rules of HLS
  unknown     ///< no source: only the kernel's reads and writes take time
};

/// A kernel's computing time.
struct Computing {
  Source source = Source::by_model;
  Time time = 0;              ///< from the user, or estimated, else 0
  Time least = 0;             ///< lower end of a range, else `time`
  Time most = 0;              ///< upper end of an estimate's range
  std::string text{};         ///< cycles of an estimate, as text
  std::string bound{};        ///< loop that bounds an estimate
  unsigned partial_sums = 0;  ///< number in that loop that saves time; 0: none does
  Time spared = 0;            ///< time that these partial sums save
};

/// Bytes that a run moves in one direction between one argument and one memory.
struct Moved {
  std::string argument;  ///< empty: the address is below all arguments
  std::string memory;
  std::uint64_t address;  ///< begin of the argument's buffer
  PortWork work;
};

struct KernelOutcome {
  Time duration = 0;
  std::uint64_t bytes = 0;  ///< bytes read and written in all sweeps
  Time logic = 0;           ///< time of the logic
  Time memory = 0;          ///< time of its reads and writes
  Computing computing{};
  std::vector<Moved> moved{};  ///< bytes of one sweep
  std::int64_t sweeps = 1;

  /// Sets the duration to the longer of memory and `given`, which overlap. With streams the run
  /// takes at least `logic`, because streams have already slowed it down to that.
  void compute_for(const Computing& given, bool has_streams) {
    computing = given;
    duration = std::max(memory, given.time);
    if (has_streams) {
      duration = std::max(duration, logic);
    }
  }
  /// Adds the bytes of a further part of a run, which runs `times` times.
  void add(const std::vector<Moved>& more, std::int64_t times = 1) {
    for (Moved next : more) {
      next.work.bytes *= times;
      const auto same = std::ranges::find_if(moved, [&next](const Moved& one) {
        return one.argument == next.argument && one.memory == next.memory &&
               one.work.writes == next.work.writes;
      });
      if (same == moved.end()) {
        moved.push_back(next);
      } else {
        same->work.bytes += next.work.bytes;
      }
    }
  }
  /// Adds the next run of the same kernel.
  KernelOutcome& operator+=(const KernelOutcome& next) {
    duration += next.duration;
    bytes += next.bytes;
    logic += next.logic;
    memory += next.memory;
    sweeps = next.sweeps;
    add(next.moved);
    computing.source = next.computing.source;
    computing.time += next.computing.time;
    computing.least += next.computing.least;
    computing.most += next.computing.most;
    computing.text = next.computing.text;
    computing.bound = next.computing.bound;
    computing.partial_sums = next.computing.partial_sums;
    computing.spared += next.computing.spared;
    return *this;
  }
};

}  // namespace isthmus::card::process

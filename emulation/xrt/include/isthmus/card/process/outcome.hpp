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
  by_model,   ///< the kernel says it: a module in Verilog, the card's own, a plug-in with cycles
  by_user,    ///< the xclbin says it: a formula, or a report of Vitis HLS
  estimated,  ///< by the rules of HLS, from the kernel's source
  unknown     ///< no source: only the kernel's reads and writes take time
};

/// A kernel's computing time.
struct Computing {
  Source source = Source::by_model;
  Time time = 0;              ///< as the user gives it, or as estimated, else 0
  Time least = 0;             ///< less than `time` where it is a range
  Time most = 0;              ///< of an estimate; more than `time` where it is a range
  std::string text{};         ///< of an estimate: its cycles
  std::string bound{};        ///< of an estimate: the loop that bounds it
  unsigned partial_sums = 0;  ///< so many in that loop spare time; 0: they do not
  Time spared = 0;
};

/// What a run moves in one direction between one argument and one memory.
struct Moved {
  std::string argument;  ///< empty: below all arguments
  std::string memory;
  std::uint64_t address;  ///< of the argument's buffer
  PortWork work;
};

struct KernelOutcome {
  Time duration = 0;
  std::uint64_t bytes = 0;  ///< read and written, each sweep counted
  Time logic = 0;           ///< what it takes beside memory
  Time memory = 0;          ///< what its reads and writes take
  Computing computing{};
  std::vector<Moved> moved{};  ///< in one sweep
  std::int64_t sweeps = 1;

  /// Sets the duration to the longer of memory and the given computing time, which overlap. With
  /// streams `logic` is a lower bound, too: streams have paced the run by it.
  void compute_for(const Computing& given, bool has_streams) {
    computing = given;
    duration = std::max(memory, given.time);
    if (has_streams) {
      duration = std::max(duration, logic);
    }
  }
  /// Adds what a further part of a run moves, which is done so many `times`.
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

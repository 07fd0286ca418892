// How long a run of a kernel took, where that time comes from, and what the run moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/card/kernel.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card::process {

/// Where a kernel's computing time comes from.
enum class Source : std::uint8_t {
  by_model,   ///< the kernel itself: Verilog, a kernel of the card, a plug-in that says its cycles
  by_user,    ///< the xclbin: the user's formula, or a report of Vitis HLS
  estimated,  ///< the kernel's source, by the rules of HLS
  unknown     ///< nothing: only reads and writes take time
};

/// A change of a kernel's source, and what it saves in a run.
struct LoopChange {
  std::string kind{};       ///< such as "partial sums"
  std::string name{};       ///< variable or arguments that change
  std::uint64_t count = 0;  ///< number that the change needs; 0: none
  Time saved = 0;           ///< below 0 if the run takes longer
  std::uint64_t bytes = 0;  ///< bytes that the run moves with the change
};

/// A kernel's computing time in a run.
struct Computing {
  Source source = Source::by_model;
  Time time = 0;         ///< given by the user or estimated; else 0
  Time least = 0;        ///< lower end of the range; without a range `time`
  Time most = 0;         ///< upper end of an estimate's range
  std::string text{};    ///< an estimate's cycles for messages
  std::string bound{};   ///< the loop that takes most of an estimate
  Time first_words = 0;  ///< time in which loops wait for memory's first word
  std::vector<LoopChange> changes{};

  /// Adds what changes save in a further run.
  void add(const std::vector<LoopChange>& more) {
    for (const LoopChange& next : more) {
      const auto same = std::ranges::find_if(changes, [&next](const LoopChange& known) {
        return known.kind == next.kind && known.name == next.name;
      });
      if (same == changes.end()) {
        changes.push_back(next);
      } else {
        same->saved += next.saved;
        same->bytes += next.bytes;
      }
    }
  }
};

/// Bytes that a run moves in one direction between one argument's buffer and one memory.
struct Moved {
  std::string argument;  ///< name; empty: the address is below all buffers
  std::string memory;
  std::uint64_t address;  ///< where the argument's buffer begins
  PortWork work;
};

struct KernelOutcome {
  Time duration = 0;
  std::uint64_t bytes = 0;  ///< bytes read and written in all sweeps
  Time logic = 0;           ///< time that the logic takes alone
  Time memory = 0;          ///< time that reads and writes take alone
  /// Time of `memory` if all data lay in host memory; 0: not computed.
  Time memory_on_host = 0;
  Computing computing{};
  std::vector<Moved> moved{};  ///< what one sweep moves
  std::int64_t sweeps = 1;

  /// Sets the duration to the longer of `memory` and `given`, which overlap. With streams it is at
  /// least `logic`, because waits at streams have already slowed the run down to that.
  void compute_for(const Computing& given, bool has_streams) {
    computing = given;
    duration = std::max(memory, given.time);
    if (has_streams) {
      duration = std::max(duration, logic);
    }
  }
  /// Adds the bytes that a further part of the run moves, which runs `times` times.
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
  /// Adds the outcome of the same kernel's next run.
  KernelOutcome& operator+=(const KernelOutcome& next) {
    duration += next.duration;
    bytes += next.bytes;
    logic += next.logic;
    memory += next.memory;
    memory_on_host += next.memory_on_host;
    sweeps = next.sweeps;
    add(next.moved);
    computing.source = next.computing.source;
    computing.time += next.computing.time;
    computing.least += next.computing.least;
    computing.most += next.computing.most;
    computing.text = next.computing.text;
    computing.bound = next.computing.bound;
    computing.first_words += next.computing.first_words;
    computing.add(next.computing.changes);
    return *this;
  }
};

}  // namespace isthmus::card::process

// What units do in the tests of dataflow.
#pragma once

#include <catch2/catch.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "isthmus/card/process/dataflow.hpp"

namespace isthmus::card::process {

inline constexpr double hertz = 250e6;
inline constexpr Time clock_time = 4 * nanosecond;
inline constexpr std::uint64_t began = 1000;

/// Units a, b, c, ...: each writes argument 1 to argument 0 of the next.
inline Description chain(const std::string& units, std::size_t depth) {
  Description found;
  for (const char unit : units) {
    ComputeUnit& made = found.units.emplace_back();
    made.instance = unit;
  }
  for (std::size_t n = 0; n + 1 < units.size(); ++n) {
    found.streams.push_back({.producer = n,
                             .producer_argument = 1,
                             .consumer = n + 1,
                             .consumer_argument = 0,
                             .depth = depth,
                             .name = std::string(1, units[n]) + ":" + units[n + 1]});
  }
  return found;
}

inline StreamWord word_of(int& value) { return {std::as_writable_bytes(std::span(&value, 1)), {}}; }

/// Ends with `gone` as a kernel does.
inline void check(StreamAnswer answer) {
  if (answer == StreamAnswer::gone) {
    throw KernelError("gone");
  }
}

/// Writes 0 .. count - 1, a word every `interval` clocks; takes `late` more at the end.
inline Dataflow::Body producer(int count, std::uint64_t interval = 1, Time late = 0) {
  return [=](StreamAccess& streams) {
    for (int n = 0; n < count; ++n) {
      check(
          streams.write(1, word_of(n), interval * static_cast<std::uint64_t>(n), StreamWait::wait));
    }
    const Time logic = clock_time * count * static_cast<Time>(interval);
    return KernelOutcome{.duration = logic + late, .bytes = 1, .logic = logic};
  };
}

/// Adds 1 to each word.
inline Dataflow::Body middle(int count) {
  return [=](StreamAccess& streams) {
    for (int n = 0; n < count; ++n) {
      int value = 0;
      const auto cycles = static_cast<std::uint64_t>(n);
      check(streams.read(0, word_of(value), cycles, StreamWait::wait));
      ++value;
      check(streams.write(1, word_of(value), cycles, StreamWait::wait));
    }
    return KernelOutcome{.duration = clock_time * count, .bytes = 0, .logic = clock_time * count};
  };
}

inline Dataflow::Body consumer(int count, std::vector<int>& into, std::uint64_t interval = 1) {
  return [=, &into](StreamAccess& streams) {
    for (int n = 0; n < count; ++n) {
      int value = 0;
      check(streams.read(0, word_of(value), interval * static_cast<std::uint64_t>(n),
                         StreamWait::wait));
      into.push_back(value);
    }
    const Time logic = clock_time * count * static_cast<Time>(interval);
    return KernelOutcome{.duration = logic, .bytes = 0, .logic = logic};
  };
}

/// Asks at each clock, as a module does; the clocks in which words were there.
inline Dataflow::Body asking(int count, std::vector<std::uint64_t>& clocks) {
  return [=, &clocks](StreamAccess& streams) {
    std::uint64_t clock = 0;
    for (int n = 0; n < count; ++clock) {
      int value = -1;
      const StreamAnswer answer = streams.read(0, word_of(value), clock, StreamWait::this_clock);
      check(answer);
      if (answer == StreamAnswer::done) {
        CHECK(value == n);
        ++n;
        check(streams.read(0, word_of(value), clock, StreamWait::try_now));
        clocks.push_back(clock);
      }
    }
    return KernelOutcome{};
  };
}

/// The same for one that writes a word every `interval` clocks, and looks at what it reads besides.
inline Dataflow::Body clocked_producer(int count, std::uint64_t interval) {
  return [=](StreamAccess& streams) {
    std::uint64_t clock = 0;
    for (int n = 0; n < count; ++clock) {
      int value = n;
      check(streams.read(0, word_of(value), clock, StreamWait::this_clock));
      const StreamAnswer room = streams.write(1, word_of(value), clock, StreamWait::this_clock);
      check(room);
      if (clock >= interval * static_cast<std::uint64_t>(n) && room == StreamAnswer::done) {
        value = n++;
        check(streams.write(1, word_of(value), clock, StreamWait::try_now));
      }
    }
    return KernelOutcome{};
  };
}

inline std::vector<int> counted(int count, int first = 0) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// When each unit's run was over, from the start on; all have ended.
inline std::vector<Time> ends(const std::vector<Dataflow::Ended>& all, std::size_t units) {
  std::vector<Time> found(units, -1);
  for (const Dataflow::Ended& ended : all) {
    found.at(ended.unit) = static_cast<Time>(ended.end - began);
  }
  return found;
}

}  // namespace isthmus::card::process

// Counters of a kernel's loops, which `isthmus card kernel build` inserts into the kernel's code
// (isthmus_emulation/estimate/rewriter.py), and the cost of each loop by the rules of HLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

/// Cycles of a loop, without those of loops within it. The counter's number is the place in the
/// table; number 0 is the kernel's function.
struct isthmus_loop_cost {
  unsigned line;  ///< line in the source; 0: this counter has no cost
  double iteration_least, iteration_most;
  double entry_least, entry_most;
  const char* why;        ///< "II 7: floating-point sum"; or empty
  unsigned partial_sums;  ///< number that gives a shorter II; 0: none does
  double spared;          ///< share of an iteration's cycles that partial sums save
  bool pipelined;
  int region;             ///< number of the process's DATAFLOW region; -1: this is a loop
  const unsigned* after;  ///< processes whose whole arrays it needs, ended by 0; or null
  unsigned ahead;         ///< most words in its pipeline on the way to a stream
};

struct isthmus_estimated_type {
  const isthmus_loop_cost* costs;
  std::size_t count;  ///< 0: the kernel has no estimate
  bool is_time;       ///< whether this estimate is the kernel's computing time
};
extern const isthmus_estimated_type isthmus_estimated;

namespace isthmus::card::plugin {

void begin_loop(unsigned number);
void end_loop(unsigned number, std::uint64_t times);

}  // namespace isthmus::card::plugin

/// Exists while a loop runs. `times` stays in a register, because its address is never taken.
class isthmus_loop {
 public:
  explicit isthmus_loop(unsigned number) : number_(number) {
    isthmus::card::plugin::begin_loop(number);
  }
  isthmus_loop(const isthmus_loop&) = delete;
  isthmus_loop& operator=(const isthmus_loop&) = delete;
  ~isthmus_loop() { isthmus::card::plugin::end_loop(number_, times); }
  std::uint64_t times = 0;

 private:
  unsigned number_;
};

/// A DATAFLOW region, whose processes run in turns. It exists as long as the block with the
/// pragma.
class isthmus_region {
 public:
  struct Processes;
  isthmus_region();
  isthmus_region(const isthmus_region&) = delete;
  isthmus_region& operator=(const isthmus_region&) = delete;
  ~isthmus_region();
  /// Begins a process: `does` runs once the processes at the places `after`, whose results it
  /// needs, have ended. Its loops are counted separately.
  void process(unsigned number, const char* name, std::initializer_list<unsigned> after,
               std::function<void()> does);
  /// Waits for processes.
  void wait(std::initializer_list<unsigned> after);
  /// Waits for all processes.
  void finish();

 private:
  std::unique_ptr<Processes> processes_;
};

template <class Stream, class = void>
inline constexpr bool isthmus_can_limit = false;
template <class Stream>
inline constexpr bool isthmus_can_limit<
    Stream, std::void_t<decltype(std::declval<Stream&>().isthmus_limit(0, std::string(), 0U))>> =
    true;

/// Limits a stream of a DATAFLOW region, or each stream of an array, to `depth`; 0: the depth of
/// its type. `line` has the pragma with the depth, else the declaration. AMD's streams are not
/// limited.
template <class Stream>
void isthmus_limit(Stream& stream, const std::string& name, std::size_t depth, unsigned line) {
  if constexpr (std::is_array_v<Stream>) {
    for (std::size_t n = 0; n < std::extent_v<Stream>; ++n) {
      isthmus_limit(stream[n], name + '[' + std::to_string(n) + ']', depth, line);
    }
  } else if constexpr (isthmus_can_limit<Stream>) {
    stream.isthmus_limit(depth, name, line);
  }
}

template <class Stream>
void isthmus_wait(Stream& stream) {
  if constexpr (isthmus_can_limit<Stream>) {
    stream.isthmus_wait();
  }
}

/// Waits until each of the streams has a word. A board takes the words that an expression reads in
/// the same cycle, and none before all are there.
template <class... Streams>
void isthmus_together(Streams&... streams) {
  (isthmus_wait(streams), ...);
}

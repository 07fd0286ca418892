// Counters of how often a kernel's loops run, and the cycles of each loop by HLS's rules. `isthmus
// card kernel build` inserts them into the kernel (isthmus_emulation/estimate/rewriter.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

/// Cycles of one loop, without the loops in it. The index in the table is the counter's number;
/// number 0 is the kernel's function.
struct isthmus_loop_cost {
  unsigned line;  ///< line of the loop in the source; 0: this counter costs nothing
  double iteration_least, iteration_most;
  double entry_least, entry_most;
  const char* why;  ///< such as "II 7: floating-point sum"; empty: nothing bounds it
  bool pipelined;
  int region;             ///< number of the DATAFLOW region if this is a process; -1: a loop
  const unsigned* after;  ///< processes whose whole arrays it needs, ended by 0; or null
  unsigned ahead;         ///< most words that its pipeline holds on the way to a stream
};

/// When a change of the source moves the words of the arguments that it names.
enum class isthmus_moves : unsigned char {
  as_before,         ///< same as before, in the same loops
  once,              ///< in the same loops, but each word once
  before_and_after,  ///< each word once, before the first loop, and after the last if written
  in_one_loop        ///< each word once, and the whole run is one pipelined loop
};

/// A change of the kernel's source, and the cycles of all its loops with the change
/// (isthmus_emulation/estimate/remedies.py).
struct isthmus_loop_change {
  const char* kind;  ///< such as "partial sums"
  const char* name;  ///< variable or arguments that change
  unsigned count;    ///< number that the change needs; 0: none
  const isthmus_loop_cost* costs;
  const char* const* arguments;  ///< arguments whose words then move once, ended by null
  isthmus_moves moves;
  unsigned unrolled;  ///< loop that the change unrolls, which must be short; 0: none
};

struct isthmus_estimated_type {
  const isthmus_loop_cost* costs;
  std::size_t count;  ///< 0: the kernel has no estimate
  bool is_time;       ///< whether the estimate is used as the kernel's computing time
  const isthmus_loop_change* changes;
  std::size_t change_count;
};
extern const isthmus_estimated_type isthmus_estimated;

namespace isthmus::card::plugin {

void begin_loop(unsigned number);
void end_loop(unsigned number, std::uint64_t times);

}  // namespace isthmus::card::plugin

/// Counts a loop while it exists. `times` can stay in a register, because its address is not taken.
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

/// A DATAFLOW region, whose processes run in turns; it exists as long as the block with the pragma.
class isthmus_region {
 public:
  struct Processes;
  isthmus_region();
  isthmus_region(const isthmus_region&) = delete;
  isthmus_region& operator=(const isthmus_region&) = delete;
  ~isthmus_region();
  /// Begins a process. `does` runs when the processes numbered in `after`, whose results it needs,
  /// have ended. Its loops are counted separately.
  void process(unsigned number, const char* name, std::initializer_list<unsigned> after,
               std::function<void()> does);
  /// Begins an iteration of the running process' loop as a process, whose loops count as those of
  /// the running process.
  void copy(const char* name, std::function<void()> does);
  /// Waits until all iterations have ended.
  void join();
  /// Waits until these processes have ended.
  void wait(std::initializer_list<unsigned> after);
  /// Waits until all processes have ended.
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

/// Sets the depth of a stream in a DATAFLOW region, or of each stream of an array; 0: that of its
/// type. `line` is the line of the pragma with the depth, else of the declaration. Streams of AMD's
/// headers have no limit.
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

/// Waits until each stream has a word: a board takes all words that an expression reads in one
/// cycle, and none before all are there.
template <class... Streams>
void isthmus_together(Streams&... streams) {
  (isthmus_wait(streams), ...);
}

// Counters of a kernel's loops, which `isthmus card kernel build` inserts into the kernel's code
// (isthmus/emulation/estimate/rewriter.py), and the cost of each loop by the rules of HLS.
#pragma once

#include <cstddef>
#include <cstdint>

/// Cycles of a loop, without those of loops within it. The counter's number is the place in the
/// table; number 0 is the kernel's function.
struct isthmus_loop_cost {
  unsigned line;  ///< 0: a counter without a cost
  double iteration_least, iteration_most;
  double entry_least, entry_most;
  const char* why;  ///< "II 7: floating-point sum"; or empty
  bool pipelined;
  int region;     ///< of a process in a DATAFLOW region; -1: a loop
  bool streamed;  ///< the region's processes pass words of streams, so that they overlap
};

struct isthmus_estimated_type {
  const isthmus_loop_cost* costs;
  std::size_t count;  ///< 0: nobody has estimated the kernel
};
extern const isthmus_estimated_type isthmus_estimated;

namespace isthmus::card::plugin {

void begin_loop(unsigned number);
void end_loop(unsigned number, std::uint64_t times);
void begin_process(unsigned number);
void end_process();

}  // namespace isthmus::card::plugin

/// Lives as long as a loop goes on. `times` stays in a register: nothing takes its address.
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

/// Lives as long as a statement of a DATAFLOW region runs: its loops are counted apart.
class isthmus_process {
 public:
  explicit isthmus_process(unsigned number) { isthmus::card::plugin::begin_process(number); }
  isthmus_process(const isthmus_process&) = delete;
  isthmus_process& operator=(const isthmus_process&) = delete;
  ~isthmus_process() { isthmus::card::plugin::end_process(); }
};

// The parts of a run that follow each other, with what each moves and computes by the estimate.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernel_window.hpp"
#include "loop_cycles.hpp"

namespace isthmus::card::plugin {

/// The phases of the run that goes on: pipelined loops, DATAFLOW regions, and the rest.
class Phases {
 public:
  void begin(std::vector<Window>& windows);
  void begin_loop(unsigned number);
  void end_loop(unsigned number, std::uint64_t times);
  void begin_process(unsigned number);
  void end_process();
  /// Tells the card of each phase; the last is what is left.
  void finish(isthmus_kernel_run& run) const;

 private:
  struct Traffic {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  using Moved = std::vector<Traffic>;  ///< by each window

  static constexpr unsigned none = ~0U;

  [[nodiscard]] Moved moved() const;
  void begin_phase(unsigned number);
  void end_phase(unsigned number);

  std::vector<Window>* windows_ = nullptr;
  Counts all_;
  std::vector<Counts*> inner_;
  unsigned phase_ = none;
  Moved before_;
  std::map<unsigned, Moved> phases_;
};

}  // namespace isthmus::card::plugin

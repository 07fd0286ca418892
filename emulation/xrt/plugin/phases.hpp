// The parts of a run that follow each other, with what each moves and computes by the estimate.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernel_window.hpp"
#include "loop_cycles.hpp"

namespace isthmus::card::plugin {

/// Where a process is, or the kernel's function. isthmus_turns.h keeps that of the one that runs.
struct Trail {
  Counts* counts = nullptr;
  std::vector<unsigned> inside;  ///< numbers of its process and of its loops
  bool is_process = false;
};

/// The phases of the run that goes on: pipelined loops, DATAFLOW regions, and the rest.
class Phases {
 public:
  void begin(std::vector<Window>& windows);
  void begin_loop(unsigned number);
  void end_loop(unsigned number, std::uint64_t times);
  /// Begins a process of a region of the function that runs.
  std::unique_ptr<Trail> begin_process(unsigned number);
  /// All processes of the region that runs have ended.
  void end_region();
  /// Words that may be in the pipelines of the function that runs.
  [[nodiscard]] static std::size_t ahead();
  /// Tells the card of each phase, which do not overlap; the last is what is left.
  void finish(isthmus_kernel_run& run) const;

 private:
  struct Traffic {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    auto operator<=>(const Traffic&) const = default;
  };
  using Moved = std::vector<Traffic>;  ///< by each window

  /// Runs of a loop that moved as much.
  struct Alike {
    std::uint64_t runs = 0;
    std::uint64_t times = 0;  ///< iterations of all of them
  };
  /// All runs of a loop, or of a region.
  struct Phase {
    Counts counts;
    std::map<Moved, Alike> runs;
  };

  static constexpr unsigned none = ~0U;

  static Trail& trail();

  [[nodiscard]] Moved moved() const;
  void begin_phase(unsigned number);
  void end_phase(unsigned number, std::uint64_t times);
  void tell(isthmus_kernel_run& run, const Phase& phase, Moved& left) const;

  std::vector<Window>* windows_ = nullptr;
  Counts all_;
  Trail outer_;
  unsigned phase_ = none;
  Moved before_;
  std::map<unsigned, Phase> phases_;
};

}  // namespace isthmus::card::plugin

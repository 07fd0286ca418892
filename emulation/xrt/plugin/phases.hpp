// Phases of a run, one after another, with the bytes that each moves and its estimated cycles.
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

/// Position of a process, or of the kernel's function. isthmus_turns.h keeps the position of the
/// function that runs.
struct Trail {
  Counts* counts = nullptr;
  std::vector<unsigned> inside;  ///< numbers of its process and of its loops
  bool is_process = false;
};

/// The phases of the present run: pipelined loops, DATAFLOW regions, and the rest.
class Phases {
 public:
  void begin(std::vector<Window>& windows);
  void begin_loop(unsigned number);
  void end_loop(unsigned number, std::uint64_t times);
  /// Begins a process of the region that runs.
  std::unique_ptr<Trail> begin_process(unsigned number);
  /// Ends the region that runs: all its processes have ended.
  void end_region();
  /// Returns the stages of the longest pipeline of the function that runs.
  [[nodiscard]] static std::size_t stages();
  /// Reports each phase to the card; phases do not overlap. The last one is the rest of the run.
  void finish(isthmus_kernel_run& run) const;

 private:
  struct Traffic {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    auto operator<=>(const Traffic&) const = default;
  };
  using Moved = std::vector<Traffic>;  ///< moved bytes of each window

  /// Runs of a loop that moved equal numbers of bytes.
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
  void report(isthmus_kernel_run& run, const Phase& phase, Moved& left) const;

  std::vector<Window>* windows_ = nullptr;
  Counts all_;
  Trail outer_;
  unsigned phase_ = none;
  Moved before_;
  std::map<unsigned, Phase> phases_;
};

}  // namespace isthmus::card::plugin

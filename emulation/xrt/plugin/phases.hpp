// Divides a run into phases, one after the other, and reports bytes and estimated cycles of each.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kernel_window.hpp"
#include "loop_cycles.hpp"

namespace isthmus::card::plugin {

/// Where a process, or the kernel's function, is in its loops. isthmus_turns.h keeps a pointer to
/// that of the running function.
struct Trail {
  Counts* counts = nullptr;
  /// Numbers of the process and of the loops around the current place.
  std::vector<unsigned> inside;
  bool is_process = false;
};

/// The phases of the current run: pipelined loops, DATAFLOW regions, and the rest.
class Phases {
 public:
  void begin(std::vector<Window>& windows);
  void begin_loop(unsigned number);
  void end_loop(unsigned number, std::uint64_t times);
  /// Begins a process of the current region.
  std::unique_ptr<Trail> begin_process(unsigned number);
  /// Ends the current region, whose processes have all ended.
  void end_region();
  /// Returns the stages of the longest pipeline in which the running function is.
  [[nodiscard]] static std::size_t stages();
  /// Reports all phases to the card, which do not overlap; the last is the rest of the run. Then
  /// reports the phases that the run would have with each change of the source.
  void finish(isthmus_kernel_run& run) const;

 private:
  struct Traffic {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    auto operator<=>(const Traffic&) const = default;
  };
  using Moved = std::vector<Traffic>;  ///< bytes moved, by window

  /// What the run moves with a change of the source.
  struct Changed {
    Moved moved;       ///< during the phases
    Moved copied_in;   ///< into local arrays, before all phases
    Moved copied_out;  ///< from local arrays, after all phases
    double copied_elements = 0;
  };

  /// Runs of a loop that each moved the same bytes.
  struct Alike {
    std::uint64_t runs = 0;
    std::uint64_t times = 0;  ///< iterations of all these runs
  };
  /// All runs of a loop or of a region.
  struct Phase {
    Counts counts;
    std::map<Moved, Alike> runs;

    /// Returns the share of the phase's cycles that some of its runs take.
    [[nodiscard]] double share(const Alike& alike) const;
  };

  /// Returns the sum of the bytes read and written.
  static std::uint64_t total(const Moved& moved);

  static constexpr unsigned none = ~0U;

  static Trail& trail();

  [[nodiscard]] Moved moved() const;
  void begin_phase(unsigned number);
  void end_phase(unsigned number, std::uint64_t times);
  void report(isthmus_kernel_run& run, const Phase& phase, Moved& left) const;
  [[nodiscard]] std::optional<Changed> with_change(const isthmus_loop_change& change) const;
  void report_change(isthmus_kernel_run& run, const isthmus_loop_change& change) const;
  void report_phases(isthmus_kernel_run& run, const isthmus_loop_change& change,
                     const Moved& once) const;
  void report_moved(isthmus_kernel_run& run, const Moved& moved) const;

  std::vector<Window>* windows_ = nullptr;
  Counts all_;
  Trail outer_;
  unsigned phase_ = none;
  Moved before_;
  std::map<unsigned, Phase> phases_;
};

}  // namespace isthmus::card::plugin

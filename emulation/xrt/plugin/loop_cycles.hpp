// Computes the cycles of a run from the counters of its loops.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/card/loop_counts.hpp"

namespace isthmus::card::plugin {

/// An estimate of a run's cycles.
struct Cycles {
  double least = 0;
  double most = 0;
  unsigned longest = 0;       ///< number of the loop with most cycles
  double longest_cycles = 0;  ///< the most cycles that loop may take

  [[nodiscard]] double likely() const { return (least + most) / 2; }
  void add(const Cycles& other);
};

/// Counts of the loops in one process of a DATAFLOW region, or in one phase.
class Counts {
 public:
  void begin() { entries_.assign(isthmus_estimated.count, {}); }
  void note(unsigned number, std::uint64_t times);
  Counts& inner(unsigned number);
  /// Returns the estimated cycles: counts times the loops' costs, which may be those of a change.
  [[nodiscard]] Cycles cycles(const isthmus_loop_cost* costs = isthmus_estimated.costs) const;
  /// Returns the mean number of iterations of a loop; 0 if it never began.
  [[nodiscard]] double trips(unsigned number) const;

 private:
  struct Entry {
    std::uint64_t begun = 0;
    std::uint64_t times = 0;
  };
  [[nodiscard]] Cycles loop(const isthmus_loop_cost* costs, unsigned number) const;
  [[nodiscard]] std::map<int, Cycles> regions(const isthmus_loop_cost* costs) const;

  std::vector<Entry> entries_;
  std::map<unsigned, std::shared_ptr<Counts>> inner_;
};

/// Returns a text like "its loop at line 41, II 7: floating-point sum"; empty if no loop has
/// cycles.
std::string bound_of(const Cycles& cycles);

}  // namespace isthmus::card::plugin

// Cycles of a run, from the counters of a kernel's loops.
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
  unsigned longest = 0;       ///< the counter of the loop with most cycles
  double longest_cycles = 0;  ///< most cycles of that loop
  double spared = 0;          ///< cycles of that loop that partial sums spare

  [[nodiscard]] double likely() const { return (least + most) / 2; }
  void add(const Cycles& other);
};

/// Counts of the loops of one process of a DATAFLOW region, or of one phase.
class Counts {
 public:
  void begin() { entries_.assign(isthmus_estimated.count, {}); }
  void note(unsigned number, std::uint64_t times);
  Counts& inner(unsigned number);
  /// Returns the cycles by the costs of the loops.
  [[nodiscard]] Cycles cycles() const;

 private:
  struct Entry {
    std::uint64_t begun = 0;
    std::uint64_t times = 0;
  };
  [[nodiscard]] Cycles loop(unsigned number) const;
  [[nodiscard]] std::map<int, Cycles> regions() const;

  std::vector<Entry> entries_;
  std::map<unsigned, std::shared_ptr<Counts>> inner_;
};

/// "its loop at line 41, II 7: floating-point sum"; empty without a loop.
std::string bound_of(const Cycles& cycles);

}  // namespace isthmus::card::plugin

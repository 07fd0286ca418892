// Streams between kernels, and runs of kernels that wait at streams.
//
// A run that reads an empty stream waits in its function until another run has written data. Runs
// go on in the order of their starts. A run's time is its start, plus the clocks of its logic, plus
// its waits at streams. A word can be read one clock after it was written. A full stream takes the
// next word when a word is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/card/process/coroutine.hpp"
#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/kernels.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card::process {

class Dataflow {
 public:
  /// `hertz` is the clock rate of the kernels.
  Dataflow(const Description& description, double hertz);
  Dataflow(const Dataflow&) = delete;
  Dataflow& operator=(const Dataflow&) = delete;
  /// Ends runs that still wait: their calls return `gone`.
  ~Dataflow();

  /// A function that does one run of a kernel with the given streams.
  using Body = std::function<KernelOutcome(StreamAccess& streams)>;
  static constexpr std::uint32_t forever = 0;
  /// Starts `times` runs of a unit, one after the other, at `now` (femtoseconds modulo 2^64). A
  /// unit that runs forever is left alone; a kernel that still moves words after its last run is
  /// ended. Throws KernelError if a run of the unit has not ended.
  void start(std::size_t unit, std::uint64_t now, std::uint32_t times, Body body);
  /// Ends a unit that runs forever, after its current run or, between two runs, at once.
  void stop(std::size_t unit);

  struct Ended {
    std::size_t unit = 0;
    std::uint64_t began = 0;
    std::uint64_t end = 0;
    KernelOutcome outcome;  ///< sum over all runs of the unit
  };
  /// Runs kernels until each has ended or waits; returns the runs that ended. Throws their
  /// exceptions, and KernelError if kernels that run forever pass words round without end.
  std::vector<Ended> advance();
  /// Lets the next `advance` resume runs that compute while they wait; returns whether there are
  /// any. Call it when nothing else can go on, because they may compute for long.
  bool let_compute();
  /// Returns a text that names each waiting run and its stream; empty if only runs without end
  /// wait.
  [[nodiscard]] std::string waiting() const;

 private:
  class Stream;
  class Run;

  [[nodiscard]] bool others_can_go_on(const Run& run) const;
  /// Stops kernels that move words after their last run. Throws KernelError if there are none,
  /// because then kernels that run forever pass words round without end.
  void end_lone_runs();
  [[nodiscard]] bool others_come_before(const Run& run) const;
  [[nodiscard]] Run* latest_of(std::size_t unit) const;

  const Description* description_;
  Pace clock_;
  bool gone_ = false;
  std::uint64_t moves_ = 0;  ///< words moved by runs that have an end
  std::uint64_t held_ = 0;   ///< number of moves that fill and empty all streams
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Run>> runs_;  ///< sorted by the order of their starts
};

}  // namespace isthmus::card::process

// Streams between kernels, and runs of kernels that wait at streams.
//
// A run without data stops within its function, and goes on when another run has written data. Runs
// go on in the order of their starts, never by chance. Each run has its own time: its start, the
// clocks of its logic, and its waits at streams. A word can be read a clock after it was written. A
// full stream takes the next word when a word was read.
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
  /// `hertz`: clock of the kernels.
  Dataflow(const Description& description, double hertz);
  Dataflow(const Dataflow&) = delete;
  Dataflow& operator=(const Dataflow&) = delete;
  /// Ends runs that still wait: their calls return `gone`.
  ~Dataflow();

  /// Does one run of a kernel, with these streams.
  using Body = std::function<KernelOutcome(StreamAccess& streams)>;
  static constexpr std::uint32_t forever = 0;
  /// `times` runs, one after the other, of unit number `unit` start at `now` (femtoseconds, modulo
  /// 2^64). Throws KernelError where one of it has not ended; what runs forever is not started
  /// twice. What goes on after its end ends now.
  void start(std::size_t unit, std::uint64_t now, std::uint32_t times, Body body);
  /// What runs forever ends with the run that it is in; at once where it is between two.
  void stop(std::size_t unit);

  struct Ended {
    std::size_t unit = 0;
    std::uint64_t began = 0;
    std::uint64_t end = 0;
    KernelOutcome outcome;  ///< of all its runs
  };
  /// Runs all kernels as far as they can; returns the runs that have ended. Throws their
  /// exceptions, and KernelError if kernels that run forever never come to wait.
  std::vector<Ended> advance();
  /// Lets those go on that wait and compute meanwhile, with the next `advance`; whether there are
  /// such. For when nothing else can go on: they may compute in vain for long.
  bool let_compute();
  /// Returns which run waits for which stream, as text; empty if only runs without end wait.
  [[nodiscard]] std::string waiting() const;

 private:
  class Stream;
  class Run;

  [[nodiscard]] bool others_can_go_on(const Run& run) const;
  /// Stops who goes on after its end; throws KernelError where it is not for these that words are
  /// passed on for ever.
  void end_what_is_alone();
  [[nodiscard]] bool others_come_before(const Run& run) const;
  [[nodiscard]] Run* latest_of(std::size_t unit) const;

  const Description* description_;
  Pace clock_;
  bool gone_ = false;
  std::uint64_t moves_ = 0;  ///< moves of words, by runs that do not run forever
  std::uint64_t held_ = 0;   ///< moves that fill all streams and empty them
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Run>> runs_;  ///< in the order of their starts
};

}  // namespace isthmus::card::process

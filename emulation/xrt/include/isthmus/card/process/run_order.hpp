// Keeps which runs of kernels had not ended when the program started another run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace isthmus::card::process {

/// A run as the program started it.
struct RunOrigin {
  std::uint64_t start = 0;   ///< number of the program's start (`HostStarts`); 0: not watched
  std::uint64_t number = 0;  ///< number in the order of the program's starts; 0: not watched
  std::size_t unit = 0;      ///< number of the compute unit
  bool connected = false;    ///< whether the unit has streams to other units
};

/// The order of runs that the program has made by its waits. A run of OpenCL is started only after
/// the events for which it waits, so that its events order it, too.
class RunOrder {
 public:
  /// Notes that the program starts the run with the next number, from 1 on.
  void begin() { ends_.push_back(0); }
  /// Notes that a run has ended.
  void end(std::uint64_t number);
  /// Returns whether the program started one run after the other had ended, or whether the card
  /// orders them: one unit runs one after the other, and connected units may wait by their streams.
  [[nodiscard]] bool has(const RunOrigin& one, const RunOrigin& other) const;
  /// Returns whether a run was started and has not ended.
  [[nodiscard]] bool is_under_way(std::uint64_t number) const {
    return number != 0 && end_of(number) == 0;
  }
  /// Returns whether all runs that have not ended were started after this one's end.
  [[nodiscard]] bool is_past(std::uint64_t number) const;

 private:
  /// Number of the latest start at a run's end; 0: the run has not ended.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t number) const {
    return number <= forgotten_ ? number : ends_[static_cast<std::size_t>(number - forgotten_ - 1)];
  }

  std::uint64_t forgotten_ = 0;  ///< number of the runs whose ends are no longer kept
  std::deque<std::uint64_t> ends_;
  std::uint64_t ended_ = 0;  ///< the runs up to this number have ended
};

}  // namespace isthmus::card::process

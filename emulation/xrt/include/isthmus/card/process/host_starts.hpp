// Keeps the program's starts of runs, to find those whose end the program does not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace isthmus::card::process {

class HostStarts {
 public:
  /// A function that says something of a numbered start.
  using Asked = bool (*)(std::uint64_t);

  /// Sets the function that returns whether the program has not seen the end of a start.
  void ask(Asked misses) { misses_ = misses; }
  /// Adds a start of a unit, in the order in which units begin them. Number 0 is not watched and is
  /// ignored. `connected` says whether the unit has streams to other units.
  void add(std::uint64_t number, std::size_t unit, bool connected);
  /// Returns whether the program may not know that a start has ended. It knows if it saw the end of
  /// that start or of a later one of the same unit. If the unit is connected, any later start
  /// counts.
  [[nodiscard]] bool is_missed(std::uint64_t number);

 private:
  struct Start {
    std::uint64_t number = 0;
    std::size_t unit = 0;
    bool connected = false;
  };
  Asked misses_ = nullptr;
  std::deque<Start> starts_;
};

}  // namespace isthmus::card::process

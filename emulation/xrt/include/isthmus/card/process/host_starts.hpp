// Starts of runs by the program, of whose ends the program may not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace isthmus::card::process {

class HostStarts {
 public:
  /// Whether the program has not yet seen the end of the start with that number.
  using Misses = bool (*)(std::uint64_t);

  void ask(Misses misses) { misses_ = misses; }
  /// Adds a start of a unit; starts are added in the order in which units begin them. Ignores
  /// number 0, which nobody watches. `connected`: the unit has streams to others.
  void add(std::uint64_t number, std::size_t unit, bool connected);
  /// Whether the program knows neither the end of that start, nor that of a later one of the same
  /// unit, nor, if the unit is connected, that of any later one.
  [[nodiscard]] bool is_missed(std::uint64_t number);

 private:
  struct Start {
    std::uint64_t number = 0;
    std::size_t unit = 0;
    bool connected = false;
  };
  Misses misses_ = nullptr;
  std::deque<Start> starts_;
};

}  // namespace isthmus::card::process

// Numbers the program's starts of runs, and notes whether the program has seen their ends. By these
// numbers the card warns if a program reads an output without a wait.
#pragma once

#include <cstdint>

namespace isthmus::card::clock {

/// Begins a start in the calling thread, which `end_start` ends; returns its number, above 0.
std::uint64_t begin_start();
void end_start();
/// Notes that the program has seen the end of the start with this number.
void see_end(std::uint64_t number);
/// Notes that the user was warned of arguments of the start with this number.
void note_mistaken(std::uint64_t number);

}  // namespace isthmus::card::clock

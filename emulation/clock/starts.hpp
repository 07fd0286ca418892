// Starts of runs by the program, and whether the program has seen their ends. The card asks for
// both, to warn of an output that the program reads without a wait.
#pragma once

#include <cstdint>

namespace isthmus::card::clock {

/// Begins a start in the calling thread, until `end_start`; returns its number, which is above 0.
std::uint64_t begin_start();
void end_start();
/// Notes that the program has seen the end of the start with that number.
void see_end(std::uint64_t number);
/// Notes that the user was warned of arguments of the start with that number.
void note_mistaken(std::uint64_t number);

}  // namespace isthmus::card::clock

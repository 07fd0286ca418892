// The shim's calls of the virtual clock: they report calls into cards and waits for cards.
// `libisthmus_clock.so` is preloaded by `card exec`; without it a card has simulated time alone.
#pragma once

#include <cstdint>

#include "isthmus/card_page.hpp"

namespace isthmus::shim::clock {

/// Simulated time in femtoseconds modulo 2^64.
using Femtoseconds = std::uint64_t;

/// Whether the program has a virtual clock.
bool is_there();
/// Registers a card by its slot of the page; `close` removes it.
void open(card::process::CardSlot& slot);
void close(card::process::CardSlot& slot);

/// Begins a call into a card; returns the calling thread's time. It returns once no other thread
/// can begin a call at an earlier simulated time.
Femtoseconds enter();
/// Writes into the slot how far the card's time may advance in the call that began at `began`.
void publish(card::process::CardSlot& slot, Femtoseconds began);
/// Says that the calling thread waits for an event whose time is unknown.
void aim_at_nothing();
/// Whether all events before `time` are done. If not, the calling thread counts as waiting until
/// `time`.
bool reaches(Femtoseconds time);
/// As `reaches`, for the helper thread.
bool is_next(Femtoseconds time);
/// Ends the call at `time`. Returns when no thread of the program can act earlier. `reached`: the
/// calling thread has waited for that already.
void leave(Femtoseconds time, bool reached = false);

/// Returns the number of the run's start in which the calling thread is. 0: it is in no start, or
/// the program learns of the run's end without a call.
std::uint64_t start();
/// Whether the program has not yet seen the end of the start with that number.
bool misses(std::uint64_t start);
/// Whether the user was warned of arguments of the start with that number.
bool is_mistaken(std::uint64_t start);

}  // namespace isthmus::shim::clock

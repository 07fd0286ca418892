// Calls of the virtual clock (libisthmus_clock.so, which `card exec` preloads): the shim reports
// calls into cards and waits for cards. Without the clock the program's clocks are real, and only
// the card counts simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/card_page.hpp"

namespace isthmus::shim::clock {

/// Simulated time in femtoseconds modulo 2^64.
using Femtoseconds = std::uint64_t;

/// Returns whether the program has a virtual clock.
bool is_there();
/// Registers a card by its slot on the memory page; `close` removes the card.
void open(card::process::CardSlot& slot);
void close(card::process::CardSlot& slot);

/// Begins a call into a card; returns the calling thread's time. Waits until no other thread can
/// begin a call at an earlier simulated time.
Femtoseconds enter();
/// Writes into the slot how far a call that began at `began` may advance the card's time.
void publish(card::process::CardSlot& slot, Femtoseconds began);
/// Declares that the calling thread waits for an event whose time is unknown.
void aim_at_nothing();
/// Returns whether all events before `time` are done. If not, the calling thread counts as waiting
/// until `time`.
bool reach_or_aim(Femtoseconds time);
/// Returns whether no other thread acts before `time`, for the helper's thread. Unlike
/// `reach_or_aim` it sets no goal, and threads at equal times have no order.
bool is_next(Femtoseconds time);
/// Ends the call at `time`. Waits until no other thread of the program can act earlier; `reached`
/// says that the calling thread has waited for that already.
void leave(Femtoseconds time, bool reached = false);

/// Returns the number of the start of a run that the calling thread makes. 0: it makes none, or the
/// program learns of the run's end without a call.
std::uint64_t start();
/// Returns whether the program has not seen the end of the start with this number.
bool misses(std::uint64_t start);
/// Returns whether the calling thread sets an argument of a run to a buffer; then also the kernel's
/// name and the argument's number.
bool sets_argument(std::string& kernel, std::size_t& argument);
/// Returns whether the user was warned of arguments of the start with this number.
bool is_mistaken(std::uint64_t start);

}  // namespace isthmus::shim::clock

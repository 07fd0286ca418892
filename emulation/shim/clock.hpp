// The virtual clock of the program, as the shim tells it of calls into cards and waits for them.
// `libisthmus_clock.so` is preloaded by `card exec`; without it a card has simulated time alone.
#pragma once

#include <cstdint>

#include "isthmus/card/process/page.hpp"

namespace isthmus::shim::clock {

/// Simulated time in femtoseconds modulo 2^64.
using Femtoseconds = std::uint64_t;

/// Whether the program has a virtual clock.
bool is_there();
/// A card is used from now on, or no longer: its slot of the page.
void open(card::process::CardSlot& slot);
void close(card::process::CardSlot& slot);

/// The calling thread's time, at which its call into a card begins. It returns once no other thread
/// can begin a call earlier in the program's time.
Femtoseconds enter();
/// Tells the card in its slot how far its time may go on within the call that began at `began`.
void tell(card::process::CardSlot& slot, Femtoseconds began);
/// The calling thread waits for what happens at `time`.
void aim(Femtoseconds time);
/// The calling thread waits for what nobody has timed.
void aim_at_nothing();
/// Whether nothing that happens before `time`, at which the calling thread aims, is left to be
/// done.
bool reaches(Femtoseconds time);
/// As `reaches`, for a thread that is not the program's.
bool is_next(Femtoseconds time);
/// The call ends at `time`; returns when nothing of the program can happen earlier. The calling
/// thread may have `reached` that time before.
void leave(Femtoseconds time, bool reached = false);

}  // namespace isthmus::shim::clock

// Calls into a card of a program whose shim is our own: the shim tells when they begin and end.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "calls.hpp"
#include "isthmus/card/process/page.hpp"
#include "library.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card;
using namespace isthmus::card::clock;

constexpr std::int64_t femtoseconds = 1'000'000;  ///< in a nanosecond

/// The time since which this thread is in a call.
thread_local constinit Nanoseconds began = 0;
/// When a thread has begun a call last.
constinit std::atomic<Nanoseconds> last_began = 0;

std::uint64_t in_femtoseconds(Nanoseconds time) {
  return static_cast<std::uint64_t>(time) * static_cast<std::uint64_t>(femtoseconds);
}

/// The nanosecond at or after a time of the card, which is near another time.
Nanoseconds in_nanoseconds(std::uint64_t time, Nanoseconds near = began) {
  const auto ahead = static_cast<std::int64_t>(time - in_femtoseconds(near));
  return near + (ahead + (ahead > 0 ? femtoseconds - 1 : 0)) / femtoseconds;
}

void await(Nanoseconds time, bool in_turn) {
  for (Nanoseconds nap = shortest_nap; !is_next_in_call(time, in_turn);
       nap = std::min(2 * nap, longest_nap)) {
    really_sleep(nap);
  }
}

}  // namespace

ISTHMUS_INTERPOSED int isthmus_clock_is_there() { return is_virtual() ? 1 : 0; }

ISTHMUS_INTERPOSED void isthmus_clock_open(process::CardSlot* slot) {
  start_time();
  enter_card(*slot);
}

ISTHMUS_INTERPOSED void isthmus_clock_close(process::CardSlot* slot) { forget_card(*slot); }

ISTHMUS_INTERPOSED std::uint64_t isthmus_clock_enter() {
  if (!has_card()) {
    return 0;
  }
  began = program_time.enter(Doing::leaving);
  last_began = began;
  await(began, true);
  return in_femtoseconds(began);
}

ISTHMUS_INTERPOSED void isthmus_clock_tell(process::CardSlot* slot, std::uint64_t time) {
  const Nanoseconds now = in_nanoseconds(time);
  const Nanoseconds deadline = deadlines.earliest();
  const Nanoseconds next = std::min(deadline, program_time.earliest_other());
  const Nanoseconds left = std::clamp<Nanoseconds>(next - now, 0, most_ahead);
  slot->patience_fs = in_femtoseconds(left);
  slot->alone = left > 0 ? 1 : 0;
  slot->stuck = deadline == Deadlines::none && program_time.others_wait() ? 1 : 0;
}

ISTHMUS_INTERPOSED void isthmus_clock_aim(std::uint64_t time) {
  program_time.aim(in_nanoseconds(time));
}

ISTHMUS_INTERPOSED void isthmus_clock_aim_at_nothing() { program_time.aim(VirtualTime::never); }

ISTHMUS_INTERPOSED int isthmus_clock_reaches(std::uint64_t time) {
  const Nanoseconds goal = in_nanoseconds(time);
  return is_next_in_call(goal, true) ? 1 : 0;
}

ISTHMUS_INTERPOSED int isthmus_clock_is_next(std::uint64_t time) {
  return has_card() && is_next_in_call(in_nanoseconds(time, last_began), false) ? 1 : 0;
}

ISTHMUS_INTERPOSED void isthmus_clock_leave(std::uint64_t time, int reached) {
  if (!has_card()) {
    return;
  }
  const Nanoseconds goal = in_nanoseconds(time);
  if (reached == 0 && goal > began) {  // where it began nothing earlier was left to be done
    program_time.aim(goal);
    await(goal, false);
  }
  program_time.leave(goal);
}

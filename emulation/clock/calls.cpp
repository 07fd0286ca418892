// Orders calls into cards by virtual time: the shim (emulation/shim) reports each call's begin and
// end.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "host_events.hpp"
#include "isthmus/card_page.hpp"
#include "libraries.hpp"
#include "library.hpp"

namespace isthmus::card::clock {
namespace {

using process::CardSlot;

constexpr std::int64_t femtoseconds = 1'000'000;  ///< femtoseconds in a nanosecond
/// Longest patience of a card (`CardSlot::patience_fs`): 2 hours. Times are femtoseconds in 64
/// bits, whose signed differences end at 2.5 hours.
constexpr Nanoseconds longest_patience = Nanoseconds{2} * 3600 * 1'000'000'000;
/// Pause before a thread checks again whether its call may begin or end.
constexpr Nanoseconds shortest_nap = 20'000;
constexpr Nanoseconds longest_nap = 1'000'000;

/// Slots of the program's open cards; null: no card.
constinit std::array<std::atomic<CardSlot*>, process::most_cards> cards{};

/// Virtual time at which the calling thread began its call into a card.
thread_local constinit Nanoseconds began = 0;
/// Begin of the latest call that any thread made into a card.
constinit std::atomic<Nanoseconds> last_began = 0;

std::uint64_t in_femtoseconds(Nanoseconds time) {
  return static_cast<std::uint64_t>(time) * static_cast<std::uint64_t>(femtoseconds);
}

/// Converts a card's time to nanoseconds, rounded up. `reference` is a time at most 2 hours away,
/// which resolves the wrap at 2^64 fs.
Nanoseconds in_nanoseconds(std::uint64_t time, Nanoseconds reference) {
  const auto difference = static_cast<std::int64_t>(time - in_femtoseconds(reference));
  return reference + (difference + (difference > 0 ? femtoseconds - 1 : 0)) / femtoseconds;
}

/// Returns whether no card has an event before `time` left.
bool cards_are_beyond(Nanoseconds time) {
  const std::uint64_t wanted = in_femtoseconds(time);
  return std::ranges::none_of(cards, [wanted](const std::atomic<CardSlot*>& card) {
    const CardSlot* const slot = card;
    // The signed difference is compared, because times wrap.
    return slot != nullptr && slot->pending != 0 &&
           static_cast<std::int64_t>(slot->done_fs - wanted) < 0;
  });
}

/// Returns whether a thread in a call may advance to `time`, because no other thread and no
/// deadline is before. Unlike `is_next` it ignores events of cards, because calls advance the
/// cards. It needs no limit of disturbed checks: a thread that acts meanwhile gets to `time` and
/// disturbs no more. With `in_turn` the thread must also be the first of the threads with equal
/// times. A deadline equal to `time` has no order with the call: real time decides. With an order
/// each could wait for the other, because the time of a card's event is rounded up.
bool is_next_in_call(Nanoseconds time, bool in_turn) {
  if (program_time.others_are_parked() && deadlines.earliest() >= time) {
    return true;
  }
  const VirtualTime::Look look = program_time.look(time);
  const bool seems_next =
      look.earliest >= time && (look.first || !in_turn) && deadlines.earliest() >= time;
  return seems_next && program_time.activity_before(time) == look.activity;
}

void await(Nanoseconds time, bool in_turn) {
  for (Nanoseconds nap = shortest_nap; !is_next_in_call(time, in_turn);
       nap = std::min(2 * nap, longest_nap)) {
    really_sleep(nap);
  }
}

/// Number of consecutive checks that other threads may disturb. Then the check counts all the same:
/// a thread that waits in a loop must not stop virtual time.
constexpr int most_disturbed = 100;
thread_local constinit int disturbed = 0;

}  // namespace

bool time_has_started() { return program_time.has_started(); }

bool is_next(Nanoseconds time) {
  // Threads are read one after another. A thread that was read as waiting may be woken, and the
  // waker may wait when it is read. So the result counts only if no thread acted meanwhile.
  const std::int64_t activity = program_time.activity_before(time);
  const bool seems_next = program_time.earliest_other() >= time && deadlines.earliest() >= time &&
                          cards_are_beyond(time);
  if (!seems_next || program_time.activity_before(time) == activity ||
      disturbed == most_disturbed) {
    disturbed = 0;
    return seems_next;
  }
  ++disturbed;
  return false;
}

bool card_is_busy() {
  return std::ranges::any_of(cards, [](const std::atomic<CardSlot*>& card) {
    const CardSlot* const slot = card;
    return slot != nullptr && (slot->busy != 0 || slot->pending != 0);
  });
}

void forget_cards() {
  for (auto& card : cards) {
    card = nullptr;
  }
}

}  // namespace isthmus::card::clock

using namespace isthmus::card;
using namespace isthmus::card::clock;

// The shim finds these functions by name; emulation/shim/clock.hpp documents each.

ISTHMUS_INTERPOSED int isthmus_clock_is_there() { return is_virtual() ? 1 : 0; }

ISTHMUS_INTERPOSED void isthmus_clock_open(process::CardSlot* slot) {
  learn_libraries();
  start_time();
  for (auto& card : cards) {
    process::CardSlot* free = nullptr;
    if (card.compare_exchange_strong(free, slot) || free == slot) {
      return;
    }
  }
}

ISTHMUS_INTERPOSED void isthmus_clock_close(process::CardSlot* slot) {
  for (auto& card : cards) {
    process::CardSlot* closed = slot;
    card.compare_exchange_strong(closed, nullptr);
  }
}

ISTHMUS_INTERPOSED std::uint64_t isthmus_clock_enter() {
  if (!time_has_started()) {
    return 0;
  }
  began = program_time.enter(Doing::in_call);
  last_began = began;
  await(began, true);
  return in_femtoseconds(began);
}

ISTHMUS_INTERPOSED void isthmus_clock_publish(process::CardSlot* slot, std::uint64_t time) {
  // card_page.hpp documents these fields of the slot.
  const Nanoseconds now = in_nanoseconds(time, began);
  const Nanoseconds deadline = deadlines.earliest();
  const Nanoseconds next = std::min(deadline, program_time.earliest_other());
  const Nanoseconds left = std::clamp<Nanoseconds>(next - now, 0, longest_patience);
  slot->patience_fs = in_femtoseconds(left);
  slot->alone = left > 0 ? 1 : 0;
  slot->stuck = deadline == Deadlines::none && program_time.others_wait() ? 1 : 0;
}

ISTHMUS_INTERPOSED void isthmus_clock_aim_at_nothing() { program_time.aim(VirtualTime::never); }

ISTHMUS_INTERPOSED int isthmus_clock_reach_or_aim(std::uint64_t time) {
  const Nanoseconds goal = in_nanoseconds(time, began);
  if (is_next_in_call(goal, true)) {
    return 1;
  }
  program_time.aim(goal);
  return 0;
}

ISTHMUS_INTERPOSED int isthmus_clock_is_next(std::uint64_t time) {
  return time_has_started() && is_next_in_call(in_nanoseconds(time, last_began), false) ? 1 : 0;
}

ISTHMUS_INTERPOSED void isthmus_clock_leave(std::uint64_t time, int reached) {
  if (!time_has_started()) {
    return;
  }
  const Nanoseconds goal = in_nanoseconds(time, began);
  // If the call ends where it began, `enter` has already waited for all earlier events.
  if (reached == 0 && goal > began && !is_next_in_call(goal, false)) {
    program_time.aim(goal);
    await(goal, false);
  }
  list_call(began, goal);
  program_time.leave(goal);
}

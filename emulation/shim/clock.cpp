#include "clock.hpp"

#include <dlfcn.h>

namespace isthmus::shim::clock {
namespace {

using card::process::CardSlot;

/// A function of the preloaded library; null where there is no such library.
template <class Function>
Function* found(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// emulation/clock/calls.cpp and starts.cpp define these functions.
const auto is_there_ = found<int()>("isthmus_clock_is_there");
const auto open_ = found<void(CardSlot*)>("isthmus_clock_open");
const auto close_ = found<void(CardSlot*)>("isthmus_clock_close");
const auto enter_ = found<Femtoseconds()>("isthmus_clock_enter");
const auto tell_ = found<void(CardSlot*, Femtoseconds)>("isthmus_clock_tell");
const auto aim_at_nothing_ = found<void()>("isthmus_clock_aim_at_nothing");
const auto reaches_ = found<int(Femtoseconds)>("isthmus_clock_reaches");
const auto is_next_ = found<int(Femtoseconds)>("isthmus_clock_is_next");
const auto leave_ = found<void(Femtoseconds, int)>("isthmus_clock_leave");
const auto start_ = found<std::uint64_t()>("isthmus_clock_start");
const auto misses_ = found<int(std::uint64_t)>("isthmus_clock_misses");
const auto is_mistaken_ = found<int(std::uint64_t)>("isthmus_clock_is_mistaken");

}  // namespace

bool is_there() {
  static const bool there = is_there_ != nullptr && is_there_() != 0;
  return there;
}

void open(CardSlot& slot) {
  if (open_ != nullptr) {
    open_(&slot);
  }
}

void close(CardSlot& slot) {
  if (close_ != nullptr) {
    close_(&slot);
  }
}

Femtoseconds enter() { return is_there() ? enter_() : 0; }

void tell(CardSlot& slot, Femtoseconds began) {
  if (is_there()) {
    tell_(&slot, began);
  }
}

void aim_at_nothing() {
  if (is_there()) {
    aim_at_nothing_();
  }
}

bool reaches(Femtoseconds time) { return !is_there() || reaches_(time) != 0; }

bool is_next(Femtoseconds time) { return !is_there() || is_next_(time) != 0; }

void leave(Femtoseconds time, bool reached) {
  if (is_there()) {
    leave_(time, reached ? 1 : 0);
  }
}

std::uint64_t start() { return start_ != nullptr ? start_() : 0; }

bool misses(std::uint64_t start) { return misses_ != nullptr && misses_(start) != 0; }

bool is_mistaken(std::uint64_t start) {
  return is_mistaken_ != nullptr && is_mistaken_(start) != 0;
}

}  // namespace isthmus::shim::clock

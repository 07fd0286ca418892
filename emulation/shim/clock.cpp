#include "clock.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace isthmus::shim::clock {
namespace {

using card::process::CardSlot;

/// Returns a function of the preloaded clock library; null without that library.
template <class Function>
Function* function(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// These functions are defined in emulation/clock/calls.cpp and starts.cpp.
const auto is_there_ = function<int()>("isthmus_clock_is_there");
const auto open_ = function<void(CardSlot*)>("isthmus_clock_open");
const auto close_ = function<void(CardSlot*)>("isthmus_clock_close");
const auto enter_ = function<Femtoseconds()>("isthmus_clock_enter");
const auto publish_ = function<void(CardSlot*, Femtoseconds)>("isthmus_clock_publish");
const auto aim_at_nothing_ = function<void()>("isthmus_clock_aim_at_nothing");
const auto reach_or_aim_ = function<int(Femtoseconds)>("isthmus_clock_reach_or_aim");
const auto is_next_ = function<int(Femtoseconds)>("isthmus_clock_is_next");
const auto leave_ = function<void(Femtoseconds, int)>("isthmus_clock_leave");
const auto start_ = function<std::uint64_t()>("isthmus_clock_start");
const auto misses_ = function<int(std::uint64_t)>("isthmus_clock_misses");
const auto is_mistaken_ = function<int(std::uint64_t)>("isthmus_clock_is_mistaken");
const auto sets_argument_ = function<const char*(std::uint64_t*)>("isthmus_clock_sets_argument");

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

void publish(CardSlot& slot, Femtoseconds began) {
  if (is_there()) {
    publish_(&slot, began);
  }
}

void aim_at_nothing() {
  if (is_there()) {
    aim_at_nothing_();
  }
}

bool reach_or_aim(Femtoseconds time) { return !is_there() || reach_or_aim_(time) != 0; }

bool is_next(Femtoseconds time) { return !is_there() || is_next_(time) != 0; }

void leave(Femtoseconds time, bool reached) {
  if (is_there()) {
    leave_(time, reached ? 1 : 0);
  }
}

std::uint64_t start() { return start_ != nullptr ? start_() : 0; }

bool misses(std::uint64_t start) { return misses_ != nullptr && misses_(start) != 0; }

bool sets_argument(std::string& kernel, std::size_t& argument) {
  std::uint64_t number = 0;
  const char* const name = sets_argument_ == nullptr ? nullptr : sets_argument_(&number);
  if (name == nullptr) {
    return false;
  }
  kernel.assign(name);
  kernel.erase(std::min(kernel.find(':'), kernel.size()));  // KERNEL:{INSTANCE}
  argument = number;
  return true;
}

bool is_mistaken(std::uint64_t start) {
  return is_mistaken_ != nullptr && is_mistaken_(start) != 0;
}

}  // namespace isthmus::shim::clock

#include "starts.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "library.hpp"
#include "opencl_order.hpp"

namespace isthmus::card::clock {
namespace {

/// Numbers of starts whose end the program has not seen, each at its number modulo the size. A
/// start replaces the one 4096 before, whose end then counts as seen.
constinit std::array<std::atomic<std::uint64_t>, 4096> unseen{};
constinit std::atomic<std::uint64_t> starts = 0;
/// Numbers of starts with arguments of which the user was warned, in the same places.
constinit std::array<std::atomic<std::uint64_t>, unseen.size()> mistaken{};
thread_local constinit std::uint64_t current = 0;

std::atomic<std::uint64_t>& entry_of(std::uint64_t number) {
  return unseen[number % unseen.size()];
}

}  // namespace

std::uint64_t begin_start() {
  current = ++starts;
  entry_of(current) = current;
  return current;
}

void end_start() { current = 0; }

void see_end(std::uint64_t number) {
  if (number != 0) {
    entry_of(number).compare_exchange_strong(number, 0);
  }
}

void note_mistaken(std::uint64_t number) { mistaken[number % mistaken.size()] = number; }

}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

// The shim finds these functions by name; emulation/shim/clock.hpp documents each.

ISTHMUS_INTERPOSED std::uint64_t isthmus_clock_start() { return current; }

ISTHMUS_INTERPOSED int isthmus_clock_misses(std::uint64_t start) {
  return start != 0 && entry_of(start) == start ? 1 : 0;
}

ISTHMUS_INTERPOSED int isthmus_clock_is_mistaken(std::uint64_t start) {
  // OpenCL's starts have no number; what the card finds may follow from a missing event.
  return start == 0 ? static_cast<int>(lacks_event())
                    : static_cast<int>(mistaken[start % mistaken.size()] == start);
}

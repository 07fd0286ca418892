// What the program's own threads do, for the list of events of `card exec --watch` and `--trace`.
#pragma once

#include <cstdint>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

/// Whether the session lists events, and the program's threads have simulated times.
bool lists_host_events();
/// Lists an event of the calling thread: its kind, a name, and its times.
void list_host_event(const char* kind, const char* name, Nanoseconds begin, Nanoseconds end,
                     std::uint64_t bytes);

/// Lists a call of the program's thread into a card, and the computing of that thread before it.
void list_call(Nanoseconds begin, Nanoseconds end);

/// Lists a copy within the host, from its construction to its end.
class HostCopy {
 public:
  explicit HostCopy(std::uint64_t bytes);
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;
  ~HostCopy();

 private:
  std::uint64_t bytes_;
  Nanoseconds begin_ = 0;
};

}  // namespace isthmus::card::clock

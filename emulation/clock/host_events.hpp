// Lists what the program's threads do on the host, for `card exec --watch` and `--trace`.
#pragma once

#include <cstdint>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

/// Returns whether events are to be listed, and threads have simulated times.
bool lists_host_events();
/// Lists an event of the calling thread: its kind, name, begin and end.
void list_host_event(const char* kind, const char* name, Nanoseconds begin, Nanoseconds end,
                     std::uint64_t bytes);

/// Lists a call of the program's thread into a card, and that thread's computing before the call.
void list_call(Nanoseconds begin, Nanoseconds end);

/// Lists a copy within host memory, which lasts from construction to destruction of this object.
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

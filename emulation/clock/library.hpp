// What the parts of the library share in a process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "isthmus/card/process/page.hpp"
#include "threads.hpp"
#include "virtual_time.hpp"

#define ISTHMUS_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace isthmus::card::clock {

/// Whether the session has a virtual clock; set before the program's own code runs.
bool is_virtual();
/// The session's page, null without one.
process::Page* page();

Nanoseconds real_time(clockid_t clock);
/// Returns at once when `duration` is none.
void really_sleep(Nanoseconds duration);

/// Times until which threads of the program wait, monotonic.
class Deadlines {
 public:
  static constexpr Nanoseconds none = std::numeric_limits<Nanoseconds>::max();

  /// The wait's place, by which it is removed; beyond 256 waits one has none.
  std::atomic<Nanoseconds>* add(Nanoseconds deadline);
  [[nodiscard]] Nanoseconds earliest() const;
  /// In the child of a fork, which has no other thread.
  void clear();

 private:
  std::array<std::atomic<Nanoseconds>, 256> waits_{};  ///< 0: free
};

extern constinit VirtualTime program_time;
extern constinit Threads threads;
extern constinit Deadlines deadlines;

/// Whether time stands still for the calling thread while a call into a card lasts: it is in one,
/// or it is one of XRT's own.
bool stands_still();
/// Whether a card was opened by this process; before, time has never left its course.
bool has_card();
/// Whether a kernel of this process runs.
bool kernel_runs();

}  // namespace isthmus::card::clock

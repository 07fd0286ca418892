// What the system says of threads.
#pragma once

#include <sys/types.h>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();
Nanoseconds processor_time(pid_t thread);
/// Runs or could run, or waits for a disk.
bool runs(pid_t thread);
/// Waits in another system call than a futex: what ends it may come from outside, as input does, or
/// the end of a process. A pipe between threads counts, too. False where the system does not tell.
bool waits_outside(pid_t thread);

}  // namespace isthmus::card::clock

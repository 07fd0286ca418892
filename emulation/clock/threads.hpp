// Queries of the system about threads.
#pragma once

#include <sys/types.h>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();
Nanoseconds processor_time(pid_t thread);
/// Whether a thread runs or could run, or waits for a disk.
bool runs(pid_t thread);
/// Whether a thread waits in a system call other than futex: an event from outside may end the
/// wait, such as input or the end of a process. A pipe between threads counts, too. False if
/// unknown.
bool waits_outside(pid_t thread);

}  // namespace isthmus::card::clock

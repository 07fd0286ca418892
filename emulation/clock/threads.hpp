// Asks Linux how much a thread has computed, and whether it runs or waits.
#pragma once

#include <sys/types.h>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();
Nanoseconds processor_time(pid_t thread);
/// Returns whether a thread runs, could run, or waits for a disk.
bool runs(pid_t thread);
/// Returns whether a thread waits in a system call other than futex. An event from outside may end
/// such a wait, such as input or the end of a process; a pipe between threads counts, too. False if
/// unknown.
bool waits_outside(pid_t thread);

}  // namespace isthmus::card::clock

// What the system says of threads.
#pragma once

#include <sys/types.h>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();
Nanoseconds processor_time(pid_t thread);
/// Runs or could run, or waits for a disk.
bool runs(pid_t thread);
/// Waits in a system call that no other thread of the program ends: for input, say, or a process.
/// Between threads they wait by futexes. False where the system does not tell.
bool waits_outside(pid_t thread);

}  // namespace isthmus::card::clock

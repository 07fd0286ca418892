// The machine's own time, in a process whose clocks may show simulated time.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace isthmus::card::process {

/// Monotonic. A system call of its own: a virtual clock stands in front of libc's functions alone.
inline std::chrono::nanoseconds real_time() {
  std::timespec time{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace isthmus::card::process

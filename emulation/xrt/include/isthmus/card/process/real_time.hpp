// Reads real time in a process whose clocks may show virtual time.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace isthmus::card::process {

/// Returns monotonic real time by a system call: the virtual clock replaces only libc's functions.
inline std::chrono::nanoseconds real_time() {
  std::timespec time{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace isthmus::card::process

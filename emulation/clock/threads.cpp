#include "threads.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "library.hpp"

namespace isthmus::card::clock {

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// Returns a thread's processor time, by a clock whose number include/linux/posix-timers.h defines.
Nanoseconds processor_time(pid_t thread) {
  return real_time(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U));
}

namespace {

using Text = std::array<char, 128>;

/// Returns the first bytes of a thread's file in /proc; empty if it cannot be read.
Text proc_text(pid_t thread, const char* what) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", thread, what);
  // System calls are made without libc, whose functions are cancellation points and may be
  // replaced.
  const int before = errno;
  Text text{};
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.data(), O_RDONLY | O_CLOEXEC));
  if (file >= 0) {
    if (syscall(SYS_read, file, text.data(), text.size() - 1) < 0) {
      text = {};
    }
    syscall(SYS_close, file);
  }
  errno = before;
  return text;
}

}  // namespace

bool runs(pid_t thread) {
  const Text text = proc_text(thread, "stat");
  const char* name_end = std::strrchr(text.data(), ')');
  return name_end != nullptr && (name_end[2] == 'R' || name_end[2] == 'D');
}

bool waits_outside(pid_t thread) {
  const Text text = proc_text(thread, "syscall");
  char* end = nullptr;
  const long number = std::strtol(text.data(), &end, 10);
  return end != text.data() && number >= 0 && number != SYS_futex;
}

}  // namespace isthmus::card::clock

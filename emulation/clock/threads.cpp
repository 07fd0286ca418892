#include "threads.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "library.hpp"

namespace isthmus::card::clock {

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// By the kernel's name for a thread's clock (include/linux/posix-timers.h).
Nanoseconds processor_time(pid_t thread) {
  return real_time(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U));
}

bool runs(pid_t thread) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", thread);
  // System calls without libc: its functions are points at which threads are cancelled, and
  // programs may replace them.
  const int before = errno;
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.data(), O_RDONLY | O_CLOEXEC));
  if (file < 0) {
    errno = before;
    return false;
  }
  std::array<char, 128> text{};
  const auto got = syscall(SYS_read, file, text.data(), text.size() - 1);
  syscall(SYS_close, file);
  errno = before;
  const char* name_end = got > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return name_end != nullptr && (name_end[2] == 'R' || name_end[2] == 'D');
}

}  // namespace isthmus::card::clock

#include "threads.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "library.hpp"

namespace isthmus::card::clock {
namespace {

/// The kernel's name for a thread's processor time (include/linux/posix-timers.h).
clockid_t processor_clock(pid_t thread) {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U);
}

/// Runs or could run, or waits for a disk.
bool runs(pid_t thread) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", thread);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  std::array<char, 128> text{};
  // Not `write`'s counterpart by name, which programs may replace too.
  const auto got = syscall(SYS_read, file, text.data(), text.size() - 1);
  close(file);
  const char* name_end = got > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return name_end != nullptr && (name_end[2] == 'R' || name_end[2] == 'D');
}

}  // namespace

thread_local constinit Threads::Entry* Threads::own = nullptr;

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void Threads::add(pid_t thread, Role role) {
  for (std::size_t index = 0; index < most; ++index) {
    pid_t free = 0;
    if (entries_[index].thread.compare_exchange_strong(free, -1)) {
      entries_[index].role = role;
      entries_[index].thread = thread;
      own = &entries_[index];
      std::size_t end = end_;
      while (end < index + 1 && !end_.compare_exchange_weak(end, index + 1)) {
      }
      return;
    }
  }
}

void Threads::remove(pid_t thread) {
  for (Entry& entry : entries_) {
    pid_t there = thread;
    entry.thread.compare_exchange_strong(there, 0);
  }
}

void Threads::keep_only(pid_t thread) {
  for (Entry& entry : entries_) {
    entry.thread = 0;
  }
  end_ = 0;
  add(thread, Role::program);
}

Role Threads::role() { return own == nullptr ? Role::program : own->role.load(); }

void Threads::set_role(Role role) {
  if (own != nullptr) {
    own->role = role;
  }
}

void Threads::sample(Sample& into) const {
  into.count = 0;
  const pid_t self = this_thread();
  for (std::size_t index = 0; index < end_; ++index) {
    const pid_t thread = entries_[index].thread;
    if (thread > 0 && thread != self && entries_[index].role == Role::program) {
      into.thread[into.count] = thread;
      into.used[into.count] = real_time(processor_clock(thread));
      ++into.count;
    }
  }
}

Nanoseconds Threads::Sample::longest_use() const {
  Nanoseconds longest = 0;
  for (std::size_t index = 0; index < count; ++index) {
    longest = std::max(longest, real_time(processor_clock(thread[index])) - used[index]);
  }
  return longest;
}

bool Threads::others_run(Role last) const {
  const pid_t self = this_thread();
  for (std::size_t index = 0; index < end_; ++index) {
    const pid_t thread = entries_[index].thread;
    if (thread > 0 && thread != self && entries_[index].role <= last && runs(thread)) {
      return true;
    }
  }
  return false;
}

Nanoseconds Threads::others_idle(Watch& watch) const {
  const Nanoseconds now = real_time(CLOCK_MONOTONIC);
  if (watch.since == 0 || watch.sample.longest_use() > 0 || others_run(Role::scheduler)) {
    sample(watch.sample);
    watch.since = now;
  }
  return now - watch.since;
}

}  // namespace isthmus::card::clock

#include "library.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "calls.hpp"
#include "real.hpp"

namespace isthmus::card::clock {
namespace {

constexpr Nanoseconds second = 1'000'000'000;

constinit Real<int(clockid_t, timespec*)> real_clock_gettime("clock_gettime");
constinit Real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");

process::Page* mapped = nullptr;

process::Page* map_page() {
  const char* path = std::getenv(process::page_variable);
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  void* found = mmap(nullptr, sizeof(process::Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (found == MAP_FAILED) {
    return nullptr;
  }
  auto* page = static_cast<process::Page*>(found);
  const bool right = page->magic == process::page_magic && page->version == process::page_version;
  return right ? page : nullptr;
}

__attribute__((constructor)) void begin() {
  mapped = map_page();
  threads.add(this_thread(), Role::program);
  pthread_atfork(nullptr, nullptr, [] {
    forget_call();
    forget_device_processes();
    program_time.forked();
    deadlines.clear();
    threads.keep_only(this_thread());
  });
}

}  // namespace

constinit VirtualTime program_time(real_time);
constinit Threads threads;
constinit Deadlines deadlines;

process::Page* page() { return mapped; }

bool is_virtual() { return mapped != nullptr && mapped->clock != 0; }

Nanoseconds real_time(clockid_t clock) {
  timespec time{};
  return real_clock_gettime(clock, &time) == 0 ? time.tv_sec * second + time.tv_nsec : 0;
}

void really_sleep(Nanoseconds duration) {
  if (duration > 0) {
    const timespec time{.tv_sec = duration / second, .tv_nsec = duration % second};
    real_nanosleep(&time, nullptr);
  }
}

std::atomic<Nanoseconds>* Deadlines::add(Nanoseconds deadline) {
  for (auto& wait : waits_) {
    Nanoseconds free = 0;
    if (wait.compare_exchange_strong(free, deadline)) {
      return &wait;
    }
  }
  return nullptr;
}

Nanoseconds Deadlines::earliest() const {
  Nanoseconds earliest = none;
  for (const auto& wait : waits_) {
    if (const Nanoseconds deadline = wait; deadline != 0) {
      earliest = std::min(earliest, deadline);
    }
  }
  return earliest;
}

void Deadlines::clear() {
  for (auto& wait : waits_) {
    wait = 0;
  }
}

}  // namespace isthmus::card::clock

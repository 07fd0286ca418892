// A spin lock for state that signal handlers use as well, because handlers may read clocks and
// sleep.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace isthmus::card::clock {

/// Holds the lock and blocks the thread's signals meanwhile. Otherwise a handler could wait for the
/// lock that its own thread holds.
class Locked {
 public:
  explicit Locked(std::atomic<bool>& locked) : locked_(&locked) {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof(before_));
    for (unsigned spins = 1; locked_->exchange(true, std::memory_order_acquire); ++spins) {
      if (spins % 256 == 0) {
        sched_yield();  // the thread with the lock may have lost its processor
      }
      __builtin_ia32_pause();
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    locked_->store(false, std::memory_order_release);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_));
  }

 private:
  std::atomic<bool>* locked_;
  std::uint64_t before_ = 0;  ///< the thread's signal mask before, a bit for each signal
};

}  // namespace isthmus::card::clock

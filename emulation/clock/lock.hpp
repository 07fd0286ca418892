// A lock for state that signal handlers use, too: they may read clocks and sleep.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace isthmus::card::clock {

/// Holds a spin lock, and blocks signals of this thread meanwhile: a handler that waits for the
/// lock would wait for the thread that it interrupts.
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
  std::uint64_t before_ = 0;  ///< the signal mask before, one bit for each signal
};

}  // namespace isthmus::card::clock

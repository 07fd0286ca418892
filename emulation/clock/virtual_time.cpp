#include "virtual_time.hpp"

#include <sched.h>

#include <algorithm>

namespace isthmus::card::clock {
namespace {

/// Two clocks read at once: real times of a clock and of the monotonic one, less than this apart.
constexpr Nanoseconds together = 1000;
constexpr int attempts = 100;

/// Lets whoever holds the lock go on, also where it has lost its processor.
class Patience {
 public:
  void wait() {
    if (++spins_ % 256 == 0) {
      sched_yield();
    }
    __builtin_ia32_pause();
  }

 private:
  unsigned spins_ = 0;
};

}  // namespace

class VirtualTime::Locked {
 public:
  explicit Locked(VirtualTime& time) : time_(&time) {
    for (Patience patience; time_->locked_.exchange(true, std::memory_order_acquire);) {
      patience.wait();
    }
    time_->sequence_.fetch_add(1, std::memory_order_acq_rel);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    time_->sequence_.fetch_add(1, std::memory_order_release);
    time_->locked_.store(false, std::memory_order_release);
  }

 private:
  VirtualTime* time_;
};

bool VirtualTime::keeps(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
      return true;
    default:
      return false;
  }
}

Nanoseconds VirtualTime::now(clockid_t clock, bool inside) {
  // A coarse clock's steps would go back while time stands still.
  if (clock == CLOCK_REALTIME_COARSE) {
    clock = CLOCK_REALTIME;
  } else if (clock == CLOCK_MONOTONIC_COARSE) {
    clock = CLOCK_MONOTONIC;
  }
  for (Patience patience;;) {
    const unsigned before = sequence_.load(std::memory_order_acquire);
    if ((before & 1U) != 0) {
      patience.wait();
      continue;
    }
    if (inside_.load(std::memory_order_relaxed) != 0) {
      break;
    }
    const Nanoseconds time = read_(clock) + offset_.load(std::memory_order_acquire);
    if (sequence_.load(std::memory_order_relaxed) == before) {
      return time;
    }
  }
  const Locked lock(*this);
  if (inside_ == 0) {  // ended meanwhile
    return read_(clock) + offset_;
  }
  const Nanoseconds monotonic = inside ? seen_.load() : look(read_(CLOCK_MONOTONIC));
  return clock == CLOCK_MONOTONIC ? monotonic : translated(clock, monotonic);
}

Nanoseconds VirtualTime::peek() {
  const Locked lock(*this);
  return inside_ == 0 ? read_(CLOCK_MONOTONIC) + offset_ : seen_.load();
}

Nanoseconds VirtualTime::enter() {
  const Locked lock(*this);
  const Nanoseconds real = read_(CLOCK_MONOTONIC);
  if (inside_ == 0) {
    base_ = real + offset_;
    base_real_ = real;
    seen_ = base_;
    last_.fill(0);
  }
  ++inside_;
  return look(real);
}

void VirtualTime::leave(Nanoseconds end) {
  const Locked lock(*this);
  base_ = std::max(end, seen_.load());
  base_real_ = read_(CLOCK_MONOTONIC);
  seen_ = base_;
  if (--inside_ > 0) {
    return;
  }
  Nanoseconds offset = base_ - base_real_;
  for (std::size_t clock = 0; clock < clocks; ++clock) {
    if (last_[clock] != 0) {
      offset = std::max(offset, last_[clock] - read_(static_cast<clockid_t>(clock)));
    }
  }
  offset_ = offset;
}

void VirtualTime::forked() {
  locked_ = false;
  sequence_ = 0;
  if (inside_ != 0) {
    inside_ = 0;
    offset_ = seen_ - read_(CLOCK_MONOTONIC);
  }
}

/// Time for a running thread while another is inside; it will not be undone.
Nanoseconds VirtualTime::look(Nanoseconds real) {
  seen_ = std::max(seen_.load(), base_ + (real - base_real_));
  return seen_;
}

/// What another clock shows at a monotonic time.
Nanoseconds VirtualTime::translated(clockid_t clock, Nanoseconds monotonic) {
  Nanoseconds real = 0;
  Nanoseconds before = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    before = read_(CLOCK_MONOTONIC);
    real = read_(clock);
    if (read_(CLOCK_MONOTONIC) - before < together) {
      break;
    }
  }
  Nanoseconds& last = last_[static_cast<std::size_t>(clock)];
  last = std::max(last, real + (monotonic - before));
  return last;
}

}  // namespace isthmus::card::clock

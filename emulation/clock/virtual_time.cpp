#include "virtual_time.hpp"

#include <algorithm>

#include "lock.hpp"

namespace isthmus::card::clock {

thread_local constinit VirtualTime::Thread* VirtualTime::own = nullptr;

void VirtualTime::start(Nanoseconds now, Nanoseconds free) {
  const Locked lock(locked_);
  if (started_) {
    return;
  }
  free_ = free;
  latest_ = now;
  const pid_t self = system_.this_thread();
  for (int look = 0; look < 100; ++look) {
    const Nanoseconds before = system_.processor_time(self);
    const Nanoseconds took = system_.processor_time(self) - before;
    looking_ = look == 0 ? took : std::min(looking_, took);
  }
  for (std::size_t index = 0; index < end_; ++index) {
    Thread& thread = threads_[index];
    if (const pid_t id = thread.id; id != 0) {
      thread.base = now;
      thread.used = id > 0 ? system_.processor_time(id) : 0;
    }
  }
  started_ = true;
}

VirtualTime::Thread* VirtualTime::reserve(Role role, Nanoseconds began) {
  const Locked lock(locked_);
  for (std::size_t index = 0; index < most_threads; ++index) {
    Thread& thread = threads_[index];
    if (thread.id == 0) {
      thread.role = role;
      thread.doing = Doing::unknown;
      thread.base = std::max(began, latest_);
      thread.id = reserved_id;
      end_ = std::max(end_.load(), index + 1);
      return &thread;
    }
  }
  return nullptr;
}

void VirtualTime::release(Thread* reserved) {
  const Locked lock(locked_);
  if (reserved != nullptr) {
    reserved->id = 0;
  }
}

void VirtualTime::add(Role role, Nanoseconds began, Thread* reserved) {
  Thread* const place = reserved == nullptr ? reserve(role, began) : reserved;
  const Locked lock(locked_);
  if (place != nullptr) {
    const pid_t id = system_.this_thread();
    place->base = std::max(place->base, latest_);
    place->used = system_.processor_time(id);
    place->id = id;
    own = place;
  }
}

Nanoseconds VirtualTime::remove() {
  const Locked lock(locked_);
  if (own == nullptr) {
    return latest_;
  }
  const Nanoseconds time = time_of(*own);
  own->id = 0;
  own = nullptr;
  return time;
}

void VirtualTime::keep_only_this() {
  locked_ = false;
  const Thread* const before = own;
  const Role role = before == nullptr ? Role::program : before->role;
  const Nanoseconds base = before == nullptr ? latest_ : before->base;
  for (Thread& thread : threads_) {
    thread.id = 0;
  }
  end_ = 0;
  own = nullptr;
  add(role, base);
}

Role VirtualTime::role() { return own == nullptr ? Role::program : own->role; }

Nanoseconds VirtualTime::time_of(const Thread& thread) const {
  if (thread.role != Role::program || thread.doing != Doing::unknown) {
    return thread.base;
  }
  const Nanoseconds used = system_.processor_time(thread.id) - thread.used;
  const Nanoseconds computed = std::max<Nanoseconds>(used - looking_, 0);
  return thread.base + (free_ > 0 ? computed / free_ * free_ : computed);
}

Nanoseconds VirtualTime::seen() { return own == nullptr ? 0 : own->seen; }

/// What the thread has computed so far becomes part of its base.
void VirtualTime::settle(Thread& thread) {
  thread.base = time_of(thread);
  thread.used = system_.processor_time(thread.id);
}

Nanoseconds VirtualTime::now() {
  const Locked lock(locked_);
  if (own == nullptr) {
    return latest_;
  }
  own->seen = time_of(*own);
  return own->seen;
}

void VirtualTime::raise(Nanoseconds time) {
  const Locked lock(locked_);
  if (own != nullptr && time > time_of(*own)) {
    own->base = time;
    own->used = system_.processor_time(own->id);
    own->seen = time;
  }
}

Nanoseconds VirtualTime::enter(Doing what) {
  const Locked lock(locked_);
  if (own == nullptr) {
    return latest_;
  }
  settle(*own);
  own->doing = what;
  own->goal = own->base;
  own->seen = own->base;
  return own->base;
}

void VirtualTime::aim(Nanoseconds goal) {
  const Locked lock(locked_);
  if (own != nullptr) {
    own->doing = Doing::leaving;
    own->goal = goal;
  }
}

void VirtualTime::leave(Nanoseconds time) {
  const Locked lock(locked_);
  if (own == nullptr) {
    return;
  }
  own->base = std::max(own->base, time);
  own->seen = own->base;
  const Nanoseconds all = std::min(own->base, earliest_but(own));
  latest_ = std::max(latest_, all);
  for (std::size_t index = 0; index < end_; ++index) {
    Thread& thread = threads_[index];
    const pid_t id = thread.id;
    const bool acts = thread.doing == Doing::call || thread.doing == Doing::leaving;
    if (id > 0 && &thread != own && !acts && thread.base < all && !system_.runs(id)) {
      const Nanoseconds there = time_of(thread);
      thread.base = std::max(there, all);
      thread.used = system_.processor_time(id);
    }
  }
  own->doing = Doing::unknown;
  own->used = system_.processor_time(own->id);  // last: what was done here is not the program's
}

void VirtualTime::abandon() {
  const Locked lock(locked_);
  if (own != nullptr) {
    own->used = system_.processor_time(own->id);
    own->doing = Doing::unknown;
  }
}

Nanoseconds VirtualTime::earliest_but(const Thread* self) const {
  Nanoseconds earliest = never;
  for (std::size_t index = 0; index < end_; ++index) {
    const Thread& thread = threads_[index];
    const pid_t id = thread.id;
    if (id == 0 || &thread == self || thread.role != Role::program) {
      continue;
    }
    if (id < 0) {
      earliest = std::min(earliest, thread.base);
    } else if (thread.doing == Doing::call || thread.doing == Doing::leaving) {
      earliest = std::min(earliest, thread.goal);
    } else if (system_.runs(id)) {
      earliest = std::min(earliest, time_of(thread));
    }
  }
  return earliest;
}

Nanoseconds VirtualTime::earliest_other() {
  const Locked lock(locked_);
  return earliest_but(own);
}

bool VirtualTime::is_first(Nanoseconds time) {
  const Locked lock(locked_);
  return std::none_of(threads_.begin(), threads_.begin() + end_, [&](const Thread& thread) {
    const pid_t id = thread.id;
    if (id == 0 || &thread == own || thread.role != Role::program) {
      return false;
    }
    if (thread.doing == Doing::call || thread.doing == Doing::leaving) {
      return thread.goal < time || (thread.goal == time && &thread < own);
    }
    return id < 0 ? thread.base <= time : system_.runs(id) && time_of(thread) <= time;
  });
}

bool VirtualTime::others_wait() {
  const Locked lock(locked_);
  return std::none_of(threads_.begin(), threads_.begin() + end_, [this](const Thread& thread) {
    const pid_t id = thread.id;
    if (id == 0 || &thread == own || thread.role != Role::program) {
      return false;
    }
    // One that waits in slices looks now and then, which is no computing of its own.
    return id < 0 ||
           (thread.doing == Doing::unknown ? system_.runs(id) : thread.doing != Doing::waiting);
  });
}

bool VirtualTime::others_leave() {
  const Locked lock(locked_);
  return std::any_of(threads_.begin(), threads_.begin() + end_, [](const Thread& thread) {
    return thread.id > 0 && &thread != own && thread.doing == Doing::leaving;
  });
}

}  // namespace isthmus::card::clock

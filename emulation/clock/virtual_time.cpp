#include "virtual_time.hpp"

#include <algorithm>
#include <utility>

#include "lock.hpp"

namespace isthmus::card::clock {

namespace {

/// Returns whether threads of this role count as threads of the program.
bool is_of_program(Role role) { return role == Role::program || role == Role::runtime; }

}  // namespace

thread_local constinit VirtualTime::Thread* VirtualTime::own = nullptr;

/// Holds the lock of virtual time. The calling thread's computing meanwhile does not count, nor
/// does its wait for the lock. Members begin in this order: the processor time is read before the
/// lock is taken. The destructor's body runs before the lock is released.
class VirtualTime::Turn {
 public:
  explicit Turn(VirtualTime& time) : used_before(begin(time)), time_(&time), lock_(time.locked_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (own != nullptr) {
      own->used += time_->system_.processor_time(own->id) - used_before + time_->turn_cost_;
      own->before_lock = never;
    }
  }

  const Nanoseconds used_before;  ///< the thread's processor time before it waited for the lock

 private:
  static Nanoseconds begin(const VirtualTime& time) {
    if (own == nullptr) {
      return 0;
    }
    const Nanoseconds used = time.system_.processor_time(own->id);
    own->before_lock = used;
    return used;
  }

  VirtualTime* time_;
  Locked lock_;
};

void VirtualTime::start(Nanoseconds now, Nanoseconds free) {
  // The first difference includes the thread's earlier computing, so it is not used.
  Nanoseconds cost = 0;
  for (int turns = 0; turns < 100 && own != nullptr; ++turns) {
    const Turn turn(*this);
    const Nanoseconds took = std::max<Nanoseconds>(turn.used_before - own->used, 0);
    cost = turns < 2 ? took : std::min(cost, took);
    own->used = turn.used_before;
  }
  const Locked lock(locked_);
  if (started_) {
    return;
  }
  turn_cost_ = cost;
  free_ = free;
  reached_by_all_ = now;
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
      thread.computing_counts = true;
      thread.parked = nullptr;
      thread.waits_for = nullptr;
      thread.before_lock = never;
      thread.seen = 0;
      thread.computed = 0;
      thread.base = std::max(began, reached_by_all_);
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
    place->base = std::max(place->base, reached_by_all_);
    place->used = system_.processor_time(id);
    place->id = id;
    own = place;
  }
}

Nanoseconds VirtualTime::remove() {
  const Locked lock(locked_);
  if (own == nullptr) {
    return reached_by_all_;
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
  const Nanoseconds base =
      before == nullptr ? reached_by_all_ : std::max(before->base, before->seen);
  for (Thread& thread : threads_) {
    thread.id = 0;
  }
  end_ = 0;
  own = nullptr;
  add(role, base);
}

Role VirtualTime::role() { return own == nullptr ? Role::program : own->role; }

Nanoseconds VirtualTime::processor_time(const Thread& thread) const {
  const Nanoseconds before_lock = thread.before_lock;
  return before_lock == never ? system_.processor_time(thread.id) : before_lock;
}

Nanoseconds VirtualTime::time_of(const Thread& thread) const {
  return time_of(thread, thread.id > 0 ? processor_time(thread) : thread.used);
}

/// Returns a thread's virtual time when its processor time is `used`. `turn_cost_` is an estimate
/// and can take more off than a turn took, so the time is at least what the thread has `seen`.
Nanoseconds VirtualTime::time_of(const Thread& thread, Nanoseconds used) const {
  if (!is_of_program(thread.role) || thread.doing != Doing::unknown || !thread.computing_counts) {
    return thread.base;
  }
  const Nanoseconds computed = std::max<Nanoseconds>(used - thread.used, 0);
  const Nanoseconds counted = free_ > 0 ? computed / free_ * free_ : computed;
  return std::max(thread.seen, thread.base + counted);
}

void VirtualTime::add_computing(Thread& thread, Nanoseconds used) const {
  const Nanoseconds time = time_of(thread, used);
  thread.computed += time - thread.base;
  thread.base = time;
  thread.used = used;
}

Nanoseconds VirtualTime::take_computed() {
  return own == nullptr ? 0 : std::exchange(own->computed, 0);
}

Nanoseconds VirtualTime::seen() { return own == nullptr ? 0 : own->seen; }

Nanoseconds VirtualTime::now() {
  const Turn turn(*this);
  if (own == nullptr) {
    return reached_by_all_;
  }
  own->seen = time_of(*own, turn.used_before);
  return own->seen;
}

void VirtualTime::raise(Nanoseconds time) {
  const Turn turn(*this);
  if (own != nullptr && time > time_of(*own, turn.used_before)) {
    add_computing(*own, turn.used_before);
    own->base = time;
    own->seen = time;
  }
}

bool VirtualTime::set_computing_counts(bool counts) {
  const Turn turn(*this);
  if (own == nullptr) {
    return true;
  }
  add_computing(*own, turn.used_before);
  return std::exchange(own->computing_counts, counts);
}

Nanoseconds VirtualTime::enter(Doing what) {
  const Turn turn(*this);
  if (own == nullptr) {
    return reached_by_all_;
  }
  add_computing(*own, turn.used_before);
  own->doing = what;
  own->goal = own->base;
  own->seen = own->base;
  return own->base;
}

void VirtualTime::aim(Nanoseconds goal) {
  const Locked lock(locked_);
  if (own != nullptr) {
    own->doing = Doing::in_call;
    own->goal = goal;
  }
}

void VirtualTime::leave(Nanoseconds time) {
  const Turn turn(*this);
  if (own == nullptr) {
    return;
  }
  own->base = std::max(own->base, time);
  own->seen = own->base;
  const Nanoseconds common = std::min(own->base, earliest_but(own));
  reached_by_all_ = std::max(reached_by_all_, common);
  for (std::size_t index = 0; index < end_; ++index) {
    Thread& thread = threads_[index];
    const pid_t id = thread.id;
    const bool not_in_call = thread.doing != Doing::in_call && is_of_program(thread.role);
    if (id > 0 && &thread != own && not_in_call && thread.base < common && !runs(thread, id)) {
      add_computing(thread, processor_time(thread));
      thread.base = std::max(thread.base, common);
    }
  }
  own->doing = Doing::unknown;
  own->used = turn.used_before;
  ended_ += is_of_program(own->role) ? 1 : 0;
}

void VirtualTime::stop_waiting() {
  const Turn turn(*this);
  if (own != nullptr) {
    own->used = turn.used_before;
    own->doing = Doing::unknown;
    ended_ += is_of_program(own->role) ? 1 : 0;
  }
}

Nanoseconds VirtualTime::earliest_but(const Thread* self) const {
  Nanoseconds earliest = never;
  for (std::size_t index = 0; index < end_; ++index) {
    const Thread& thread = threads_[index];
    const pid_t id = thread.id;
    if (id == 0 || &thread == self || !is_of_program(thread.role)) {
      continue;
    }
    if (id < 0) {
      earliest = std::min(earliest, thread.base);
    } else if (thread.doing == Doing::in_call) {
      earliest = std::min(earliest, thread.goal);
    } else if (runs(thread, id)) {
      earliest = std::min(earliest, time_of(thread));
    }
  }
  return earliest;
}

bool VirtualTime::others_are_parked() const {
  // In a call a thread may be parked for a kernel's thread: the call goes on without a signal of
  // the program, at its `goal`.
  return std::none_of(threads_.begin(), threads_.begin() + end_, [](const Thread& thread) {
    return thread.id != 0 && &thread != own && is_of_program(thread.role) &&
           (thread.parked == nullptr || thread.doing == Doing::in_call);
  });
}

Nanoseconds VirtualTime::earliest_other() {
  const Locked lock(locked_);
  return earliest_but(own);
}

std::int64_t VirtualTime::activity_before(Nanoseconds time) {
  const Locked lock(locked_);
  return activity_up_to(time);
}

VirtualTime::Look VirtualTime::look(Nanoseconds time) {
  const Locked lock(locked_);
  return {
      .earliest = earliest_but(own), .activity = activity_up_to(time), .first = is_first_at(time)};
}

std::int64_t VirtualTime::activity_up_to(Nanoseconds time) const {
  std::int64_t fingerprint = ended_;  // compared for equality only
  for (std::size_t index = 0; index < end_; ++index) {
    const Thread& thread = threads_[index];
    const pid_t id = thread.id;
    if (id == 0 || &thread == own || !is_of_program(thread.role) ||
        thread.doing != Doing::unknown || thread.parked != nullptr) {
      continue;
    }
    const Nanoseconds used = id > 0 ? processor_time(thread) : 0;
    if (time_of(thread, used) < time) {
      fingerprint += used + 1;  // + 1: a thread without processor time changes the sum, too
    }
  }
  return fingerprint;
}

void VirtualTime::park(void* condition) {
  if (own != nullptr) {
    own->waits_for = condition;
    own->parked = condition;
  }
}

void VirtualTime::unpark(const void* condition) {
  for (std::size_t index = 0; index < end_; ++index) {
    void* waited_for = const_cast<void*>(condition);  // NOLINT(*-const-cast): only compared
    threads_[index].parked.compare_exchange_strong(waited_for, nullptr);
  }
}

void VirtualTime::wake_runtime(void (*wake)(void* condition)) {
  for (std::size_t index = 0; index < end_; ++index) {
    const Thread& thread = threads_[index];
    void* const condition = thread.role == Role::runtime ? thread.waits_for.load() : nullptr;
    if (condition != nullptr) {
      wake(condition);
    }
  }
}

bool VirtualTime::is_first_at(Nanoseconds time) const {
  return std::none_of(threads_.begin(), threads_.begin() + end_, [&](const Thread& thread) {
    const pid_t id = thread.id;
    if (id == 0 || &thread == own || !is_of_program(thread.role)) {
      return false;
    }
    if (thread.doing == Doing::in_call) {
      return thread.goal < time || (thread.goal == time && &thread < own);
    }
    return id < 0 ? thread.base <= time : runs(thread, id) && time_of(thread) <= time;
  });
}

bool VirtualTime::others_wait() {
  const Locked lock(locked_);
  return std::none_of(threads_.begin(), threads_.begin() + end_, [this](const Thread& thread) {
    const pid_t id = thread.id;
    if (id == 0 || &thread == own || !is_of_program(thread.role)) {
      return false;
    }
    // A thread that waits in slices reads the time meanwhile, which is no computing.
    if (id < 0 || thread.doing != Doing::unknown) {
      return id < 0 || thread.doing != Doing::waiting;
    }
    return thread.parked == nullptr && (system_.runs(id) || system_.waits_outside(id));
  });
}

bool VirtualTime::another_is_in_call() {
  const Locked lock(locked_);
  return std::any_of(threads_.begin(), threads_.begin() + end_, [](const Thread& thread) {
    return thread.id > 0 && &thread != own && thread.doing == Doing::in_call;
  });
}

}  // namespace isthmus::card::clock

// The program's virtual time. Each thread has its own time. Computing advances it by the processor
// time that it takes. A wait for the card, for another thread or until a deadline sets it to the
// end of the wait. Wall time does not advance it, so other work on the machine does not show.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus::card::clock {

using Nanoseconds = std::int64_t;

/// What a thread is for.
enum class Role : std::uint8_t {
  program,  ///< belongs to the program
  /// Belongs to XRT and runs the program's callbacks, so its computing counts as the program's.
  runtime,
  shim  ///< the shim's helper: runs kernels, and advances cards in real time
};

/// What a thread does, as far as other threads must wait for it.
enum class Doing : std::uint8_t {
  unknown,  ///< computes or waits: its state in /proc says which
  in_call,  ///< the thread is in a call into a card, and does nothing before its `goal`
  /// Waits until a deadline; its computing does not count. /proc says whether it waits or has woken
  /// between two slices of the wait; awake, it holds others up.
  waiting
};

/// Functions that ask the system about a thread.
struct System {
  Nanoseconds (*processor_time)(pid_t thread);
  /// Returns whether the thread runs, could run, or waits for a disk.
  bool (*runs)(pid_t thread);
  /// Returns whether it waits for an event from outside the program.
  bool (*waits_outside)(pid_t thread);
  pid_t (*this_thread)();
};

class VirtualTime {
 public:
  static constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  /// Most threads that are counted.
  static constexpr std::size_t most_threads = 256;

  explicit constexpr VirtualTime(System system) : system_(system) {}

  /// Starts virtual time at `now` for all threads. Computing counts in whole multiples of `free`
  /// since the thread's last call or wait; 0: all of it counts.
  void start(Nanoseconds now, Nanoseconds free);
  [[nodiscard]] bool has_started() const { return started_; }

  struct Thread {
    std::atomic<pid_t> id = 0;  ///< Linux' number of the thread; 0: free, negative: not yet known
    Role role = Role::program;
    std::atomic<Doing> doing = Doing::unknown;
    bool computing_counts = true;  ///< whether computing advances the thread's time
    /// Condition for which the thread waits without a deadline, until another thread signals it.
    std::atomic<void*> parked = nullptr;
    /// Condition for which the thread waits, kept until the wait has ended. `wake_runtime` signals
    /// the condition, because XRT may have signalled before the wait began.
    std::atomic<void*> waits_for = nullptr;
    /// Processor time when the thread began to wait for the lock, because spinning does not count.
    std::atomic<Nanoseconds> before_lock = never;
    Nanoseconds base = 0;      ///< virtual time when the processor time was `used`
    Nanoseconds used = 0;      ///< processor time when `base` was set
    Nanoseconds computed = 0;  ///< how far computing has advanced the thread's time
    Nanoseconds goal = 0;      ///< in a call: the time before which the thread does nothing
    /// The time that the thread last learned from the clock; an unlock passes it on.
    Nanoseconds seen = 0;
  };
  /// Returns an entry for a thread that is about to start, which counts as running from now on.
  /// Null if no entry is free.
  Thread* reserve(Role role, Nanoseconds began);
  /// Frees the entry of a thread that did not start.
  void release(Thread* reserved);
  /// Registers the calling thread, whose time begins at `began`, in its reserved entry if it has
  /// one.
  void add(Role role, Nanoseconds began, Thread* reserved = nullptr);
  /// Removes the calling thread, which ends; returns its virtual time.
  Nanoseconds remove();
  /// Removes all threads but the calling one, because the child of a fork has no other.
  void keep_only_this();
  [[nodiscard]] static Role role();

  /// Returns the calling thread's time, which stands still in a call and in a wait, and for the
  /// shim's threads.
  Nanoseconds now();
  /// Returns the time that the calling thread last learned from the clock.
  static Nanoseconds seen();
  /// Returns how far computing has advanced the calling thread's time since the previous call.
  static Nanoseconds take_computed();
  /// Raises the calling thread's time to `time`, at which another thread ended its wait.
  void raise(Nanoseconds time);

  /// Sets whether computing advances the calling thread's time; returns the previous setting.
  bool set_computing_counts(bool counts);

  /// Begins a call into a card, or a wait; returns the thread's time.
  Nanoseconds enter(Doing what);
  /// Declares that the calling thread does nothing before `goal`.
  void aim(Nanoseconds goal);
  /// Ends the call or the wait at `time`. Threads that wait then have at least this time, or the
  /// time of the earliest other thread that runs or is in a call.
  void leave(Nanoseconds time);
  /// Ends the wait; keeps the thread's time, also a time that `leave` has set.
  void stop_waiting();

  /// Returns whether all other threads are parked in pthread_cond_wait, outside of calls into
  /// cards. It takes no lock, which saves a program with one thread two changes of its signal mask
  /// in each launch.
  [[nodiscard]] bool others_are_parked() const;
  /// Returns the time before which no other thread of the program acts: the earliest time of a
  /// thread that runs or is in a call.
  [[nodiscard]] Nanoseconds earliest_other();
  /// Returns a number that changes when another thread acts before `time`: computes, or ends a wait
  /// or a call.
  [[nodiscard]] std::int64_t activity_before(Nanoseconds time);
  /// The results of `earliest_other` and `activity_before` at once. `first`: the caller acts before
  /// all threads that may act up to `time`. Calls of equal goals act in the order of their entries;
  /// a thread that runs at that time acts before the caller.
  struct Look {
    Nanoseconds earliest = never;
    std::int64_t activity = 0;
    bool first = false;
  };
  [[nodiscard]] Look look(Nanoseconds time);
  /// Declares that the calling thread waits for a condition without a deadline; null: no longer.
  /// Other threads then need not read its state from /proc.
  static void park(void* condition);
  /// Declares that a condition is signalled, so that threads that wait for it may go on.
  void unpark(const void* condition);
  /// Calls `wake` for each condition for which one of XRT's threads waits without a deadline.
  void wake_runtime(void (*wake)(void* condition));

  /// Returns whether all other threads wait for one another, as entries or /proc say.
  [[nodiscard]] bool others_wait();
  /// Returns whether another thread is in a call into a card: waits to begin or end it, or works.
  [[nodiscard]] bool another_is_in_call();

 private:
  static constexpr pid_t reserved_id = -1;
  static thread_local constinit Thread* own;

  class Turn;

  [[nodiscard]] Nanoseconds time_of(const Thread& thread) const;
  /// Returns how much of a thread's processor time counts as computing.
  [[nodiscard]] Nanoseconds processor_time(const Thread& thread) const;
  [[nodiscard]] Nanoseconds time_of(const Thread& thread, Nanoseconds used) const;
  /// Returns whether a thread runs or could run.
  [[nodiscard]] bool runs(const Thread& thread, pid_t id) const {
    return thread.parked == nullptr && system_.runs(id);
  }
  /// Advances the thread's time by its processor time since `thread.used`.
  void add_computing(Thread& thread, Nanoseconds used) const;
  [[nodiscard]] Nanoseconds earliest_but(const Thread* self) const;
  // Call these with the lock held.
  [[nodiscard]] std::int64_t activity_up_to(Nanoseconds time) const;
  [[nodiscard]] bool is_first_at(Nanoseconds time) const;

  System system_;
  std::atomic<bool> locked_ = false;
  std::atomic<bool> started_ = false;
  Nanoseconds free_ = 0;
  /// Processor time that a turn takes outside its own two readings.
  Nanoseconds turn_cost_ = 0;
  /// Number of waits and calls that the program's threads have ended.
  std::atomic<std::int64_t> ended_ = 0;
  /// No thread acts before this time any more; a thread that starts begins at or after it.
  Nanoseconds reached_by_all_ = 0;
  std::array<Thread, most_threads> threads_{};
  std::atomic<std::size_t> end_ = 0;  ///< entries from this index on are free
};

}  // namespace isthmus::card::clock

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

/// Purpose of a thread.
enum class Role : std::uint8_t {
  program,  ///< the program's own
  runtime,  ///< XRT's: it runs callbacks of the program, so it counts as the program's
  shim      ///< our shim's helper: runs kernels, and advances cards in real time
};

/// State of a thread, as far as other threads have to wait for it.
enum class Doing : std::uint8_t {
  unknown,  ///< computes or waits: its state in /proc says which
  leaving,  ///< is in a call into a card, and does nothing before its `goal`
  waiting   ///< waits until a deadline or for a thread: its computing does not count
};

/// Queries of the system about a thread.
struct System {
  Nanoseconds (*processor_time)(pid_t thread);
  bool (*runs)(pid_t thread);           ///< whether it runs, could run, or waits for a disk
  bool (*waits_outside)(pid_t thread);  ///< whether it waits for an event from outside the program
  pid_t (*this_thread)();
};

class VirtualTime {
 public:
  static constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  /// Threads beyond these are not counted.
  static constexpr std::size_t most_threads = 256;

  explicit constexpr VirtualTime(System system) : system_(system) {}

  /// Starts virtual time at `now`, for all threads. Up to `free` of computing at a stretch takes no
  /// time.
  void start(Nanoseconds now, Nanoseconds free);
  [[nodiscard]] bool has_started() const { return started_; }

  struct Thread {
    std::atomic<pid_t> id = 0;  ///< 0: free, negative: not yet known
    Role role = Role::program;
    Doing doing = Doing::unknown;
    bool counts = true;  ///< computing advances its time
    /// The condition for which it waits without a deadline, until a thread signals it.
    std::atomic<void*> parked = nullptr;
    /// The same condition, but until the wait is over. `wake_runtime` signals it, because XRT may
    /// have signalled before the wait began.
    std::atomic<void*> waits_for = nullptr;
    /// Processor time when the thread began to wait for the lock: spinning does not count.
    std::atomic<Nanoseconds> before_lock = never;
    Nanoseconds base = 0;      ///< its virtual time at the processor time `used`
    Nanoseconds used = 0;      ///< processor time when `base` was set
    Nanoseconds computed = 0;  ///< by how much computing has advanced its time
    Nanoseconds goal = 0;      ///< in a call or wait: it does nothing before this time
    Nanoseconds seen = 0;      ///< last result of `now`
  };
  /// Returns a place for a thread that is about to start. From now on it counts as running. Null if
  /// no place is left.
  Thread* reserve(Role role, Nanoseconds began);
  /// Frees the place of a thread that was not started.
  void release(Thread* reserved);
  /// Registers the calling thread from `began` on, in its reserved place if it has one.
  void add(Role role, Nanoseconds began, Thread* reserved = nullptr);
  /// Removes the calling thread at its end; returns its time.
  Nanoseconds remove();
  /// Removes all threads except the caller: for the child of a fork.
  void keep_only_this();
  [[nodiscard]] static Role role();

  /// Returns the calling thread's time. It stands still in a call, in a wait, and for XRT's
  /// threads.
  Nanoseconds now();
  /// Returns the calling thread's time as `now` returned it last.
  static Nanoseconds seen();
  /// Returns by how much computing has advanced the calling thread's time since it was asked last.
  static Nanoseconds take_computed();
  /// Raises the calling thread's time to `time`, when another thread ended its wait.
  void raise(Nanoseconds time);

  /// Sets whether computing advances the calling thread's time from now on. Returns whether it did
  /// before.
  bool count(bool counts);

  /// Begins a call into a card, or a wait; returns its time.
  Nanoseconds enter(Doing what);
  /// Says that the calling thread does nothing before `goal`.
  void aim(Nanoseconds goal);
  /// Ends the call or the wait at `time`; threads that wait are brought to `time`, too.
  void leave(Nanoseconds time);
  /// Ends the wait without a new time.
  void abandon();

  /// Whether all other threads wait without a deadline until they are signalled. It takes no lock:
  /// that saves a system call for each launch of a program with one thread.
  [[nodiscard]] bool others_are_parked() const;
  /// Returns the time up to which no other thread of the program acts: the least time of a thread
  /// that runs, or is in a call.
  [[nodiscard]] Nanoseconds earliest_other();
  /// Returns a number that changes when another thread of the program acts before `time`: computes,
  /// or ends a wait or a call.
  [[nodiscard]] std::int64_t activity_before(Nanoseconds time);
  /// Result of `earliest_other` and `activity_before` at once. `first`: the caller acts before all
  /// other threads that may act up to `time`. Threads with equal times act in the order of their
  /// places, which is the order of their starts.
  struct Look {
    Nanoseconds earliest = never;
    std::int64_t activity = 0;
    bool first = false;
  };
  [[nodiscard]] Look look(Nanoseconds time);
  /// Says that the calling thread waits without a deadline until this condition is signalled; null:
  /// no longer. So other threads need not read from /proc whether it runs.
  static void park(void* condition);
  /// Says that a condition is signalled: threads that wait for it may go on.
  void unpark(const void* condition);
  /// Calls `wake` for each condition for which a thread of XRT waits without a deadline.
  void wake_runtime(void (*wake)(void* condition));

  /// Whether all other threads wait for one another, by their state here or in /proc.
  [[nodiscard]] bool others_wait();
  /// Whether another thread waits to leave a call.
  [[nodiscard]] bool others_leave();

 private:
  static constexpr pid_t reserved_id = -1;
  static thread_local constinit Thread* own;

  class Turn;

  [[nodiscard]] Nanoseconds time_of(const Thread& thread) const;
  /// Returns the processor time that counts as the thread's computing.
  [[nodiscard]] Nanoseconds processor_time(const Thread& thread) const;
  [[nodiscard]] Nanoseconds time_of(const Thread& thread, Nanoseconds used) const;
  /// Whether the thread runs or could run.
  [[nodiscard]] bool runs(const Thread& thread, pid_t id) const {
    return thread.parked == nullptr && system_.runs(id);
  }
  /// Adds the processor time since `thread.used` to the thread's time.
  void count_computing(Thread& thread, Nanoseconds used) const;
  [[nodiscard]] Nanoseconds earliest_but(const Thread* self) const;
  // The caller holds the lock.
  [[nodiscard]] std::int64_t activity_up_to(Nanoseconds time) const;
  [[nodiscard]] bool is_first_at(Nanoseconds time) const;

  System system_;
  std::atomic<bool> locked_ = false;
  std::atomic<bool> started_ = false;
  Nanoseconds free_ = 0;
  Nanoseconds looking_ = 0;  ///< processor time of a turn that the turn itself cannot measure
  std::atomic<std::int64_t> ended_ = 0;  ///< ended waits and calls of the program
  Nanoseconds latest_ = 0;  ///< latest end of a call or wait: waiting threads are at least here
  std::array<Thread, most_threads> threads_{};
  std::atomic<std::size_t> end_ = 0;  ///< all entries from here on are free
};

}  // namespace isthmus::card::clock

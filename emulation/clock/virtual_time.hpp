// The program's time. Each of its threads has one: computing advances it by the processor time that
// it takes, and waiting for the card, for another thread or until a deadline sets it to when that
// was over. Wall time is no part of it, so other work on the machine does not show.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus::card::clock {

using Nanoseconds = std::int64_t;

/// What a thread is there for.
enum class Role : std::uint8_t {
  program,  ///< the program's own
  runtime,  ///< XRT's: calls what the program asks it to call, so it counts as the program's
  shim      ///< our shim's: runs kernels, and looks after cards in real time
};

/// What a thread does, as far as others have to wait for it.
enum class Doing : std::uint8_t {
  unknown,  ///< computes, or waits for something: its state in the system says which
  leaving,  ///< is in a call into a card, and does nothing before its `goal`
  waiting   ///< waits until a deadline or for somebody: computing meanwhile is none of its own
};

/// What the system says of a thread.
struct System {
  Nanoseconds (*processor_time)(pid_t thread);
  bool (*runs)(pid_t thread);           ///< or could run, or waits for a disk
  bool (*waits_outside)(pid_t thread);  ///< for what may come from outside
  pid_t (*this_thread)();
};

class VirtualTime {
 public:
  static constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  /// Threads beyond these are not counted.
  static constexpr std::size_t most_threads = 256;

  explicit constexpr VirtualTime(System system) : system_(system) {}

  /// Time begins at `now`, for all threads. Before, there is none. Computing takes no time up to
  /// `free` at a stretch.
  void start(Nanoseconds now, Nanoseconds free);
  [[nodiscard]] bool has_started() const { return started_; }

  struct Thread {
    std::atomic<pid_t> id = 0;  ///< 0: free, negative: not yet known
    Role role = Role::program;
    Doing doing = Doing::unknown;
    bool counts = true;                  ///< what it computes
    std::atomic<bool> in_slice = false;  ///< of a wait without a deadline
    /// The condition for which it waits without a deadline, until somebody signals that.
    std::atomic<void*> parked = nullptr;
    /// The same, until the wait is over: a signal before the wait has begun is lost.
    std::atomic<void*> waits_for = nullptr;
    Nanoseconds base = 0;  ///< its time when it had used `used`
    Nanoseconds used = 0;  ///< processor time
    Nanoseconds goal = 0;
    Nanoseconds seen = 0;
  };
  /// A place for a thread that is going to be started: until it runs it counts as one that does.
  /// Null where there is none left.
  Thread* reserve(Role role, Nanoseconds began);
  /// It was not started.
  void release(Thread* reserved);
  /// The calling thread is one of the program's, from `began` on, in the place that it has.
  void add(Role role, Nanoseconds began, Thread* reserved = nullptr);
  /// It ends; its time.
  Nanoseconds remove();
  /// After a fork only the caller is left.
  void keep_only_this();
  [[nodiscard]] static Role role();

  /// Time of the calling thread. It stands still in a call, while it waits, and for XRT's threads.
  Nanoseconds now();
  /// What the calling thread has last seen of its time.
  static Nanoseconds seen();
  /// It is at least `time`: another thread did something then that this one waited for.
  void raise(Nanoseconds time);

  /// Sets whether computing advances the calling thread's time from now on. Returns whether it did
  /// before.
  bool count(bool counts);

  /// A call into a card, or a wait, begins: its time.
  Nanoseconds enter(Doing what);
  /// The thread does nothing before `goal`.
  void aim(Nanoseconds goal);
  /// The call or the wait is over at `time`; threads that wait are there, too.
  void leave(Nanoseconds time);
  /// The wait was given up where it began, or where others brought it.
  void abandon();

  /// Up to when nothing is done by other threads of the program: the least time of one that runs,
  /// or is in a call.
  [[nodiscard]] Nanoseconds earliest_other();
  /// Changes when another thread of the program does something before `time`: computes, or ends a
  /// wait or a call. Threads that wait in slices, and look now and then, do nothing by that.
  [[nodiscard]] std::int64_t activity_before(Nanoseconds time);
  /// `earliest_other` and `activity_before` at once. `first`: the caller is to act before all
  /// others that may act at `time` or before: of several that wait there, in the order of their
  /// places, which is that of their start.
  struct Look {
    Nanoseconds earliest = never;
    std::int64_t activity = 0;
    bool first = false;
  };
  [[nodiscard]] Look look(Nanoseconds time);
  /// The calling thread waits without a deadline, and looks now and then: a slice of that begins,
  /// or ends, as the thread was woken or looks. They take no lock, which many threads would want.
  static void begin_slice();
  void end_slice(bool woken);

  /// The calling thread waits without a deadline until somebody signals this condition, or no
  /// longer does (null). So nobody has to ask the system whether it runs.
  static void park(void* condition);
  /// Somebody signals a condition: threads that wait for it may go on.
  void unpark(const void* condition);
  /// Calls `wake` for each condition for which a thread of XRT waits without a deadline.
  void wake_runtime(void (*wake)(void* condition));

  /// Whether all other threads wait for one another, as far as they say so, or the system.
  [[nodiscard]] bool others_wait();
  /// Whether another thread waits to leave a call.
  [[nodiscard]] bool others_leave();

 private:
  static constexpr pid_t reserved_id = -1;
  static thread_local constinit Thread* own;

  class Turn;

  [[nodiscard]] Nanoseconds time_of(const Thread& thread) const;
  [[nodiscard]] Nanoseconds time_of(const Thread& thread, Nanoseconds used) const;
  /// Whether the thread runs, or could.
  [[nodiscard]] bool runs(const Thread& thread, pid_t id) const {
    return thread.parked == nullptr && system_.runs(id);
  }
  [[nodiscard]] Nanoseconds earliest_but(const Thread* self) const;
  // These need the lock.
  [[nodiscard]] std::int64_t activity_up_to(Nanoseconds time) const;
  [[nodiscard]] bool is_first_at(Nanoseconds time) const;

  System system_;
  std::atomic<bool> locked_ = false;
  std::atomic<bool> started_ = false;
  Nanoseconds free_ = 0;
  Nanoseconds looking_ = 0;              ///< processor time that a turn takes beside what it sees
  std::atomic<std::int64_t> ended_ = 0;  ///< waits and calls of the program
  Nanoseconds latest_ = 0;               ///< to which all threads that waited were brought
  std::array<Thread, most_threads> threads_{};
  std::atomic<std::size_t> end_ = 0;  ///< all beyond are free
};

}  // namespace isthmus::card::clock

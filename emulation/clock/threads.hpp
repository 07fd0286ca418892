// Threads of the program: which of them compute while another is in a call.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();

/// What a thread is there for, the program's own first.
enum class Role : std::uint8_t {
  program,
  scheduler,  ///< XRT's: starts kernels
  poller,     ///< the same while all it does is to ask whether they run still
  server      ///< XRT's: serves the card, which costs nothing on a board
};

/// Threads beyond the first `most` are not counted.
class Threads {
 public:
  static constexpr std::size_t most = 256;

  /// Processor time of each thread at some moment.
  struct Sample {
    std::array<pid_t, most> thread;
    std::array<Nanoseconds, most> used;
    std::size_t count;

    /// Longest that one of these has computed since.
    [[nodiscard]] Nanoseconds longest_use() const;
  };

  /// What all were seen to have used, unchanged since a moment of real time.
  struct Watch {
    Sample sample;
    Nanoseconds since;
  };

  void add(pid_t thread, Role role);
  void remove(pid_t thread);
  /// After a fork only the caller is left.
  void keep_only(pid_t thread);
  /// Of the calling thread.
  [[nodiscard]] static Role role();
  static void set_role(Role role);

  /// Of the program's own threads but the caller.
  void sample(Sample& into) const;
  /// Whether a thread in one of the roles up to `last`, but not the caller, runs or waits for a
  /// processor.
  [[nodiscard]] bool others_run(Role last) const;
  /// For how long, as far as the watch knows, no other thread than the caller has computed, nor
  /// wanted to start a kernel.
  Nanoseconds others_idle(Watch& watch) const;

 private:
  struct Entry {
    std::atomic<pid_t> thread = 0;  ///< 0: free, -1: being taken
    std::atomic<Role> role = Role::program;
  };
  static thread_local constinit Entry* own;

  std::array<Entry, most> entries_;
  std::atomic<std::size_t> end_ = 0;  ///< all beyond are free
};

}  // namespace isthmus::card::clock

// Threads of the program: which of them compute while another is in a call.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "virtual_time.hpp"

namespace isthmus::card::clock {

pid_t this_thread();
/// Whether the calling thread is one of XRT's own.
extern thread_local constinit bool is_helper;

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

  /// A helper never counts as one that computes.
  void add(pid_t thread, bool helper);
  void remove(pid_t thread);
  /// After a fork only the caller is left.
  void keep_only(pid_t thread);

  /// Of all but the caller and helpers.
  void sample(Sample& into) const;
  /// Whether another thread than the caller runs or waits for a processor.
  [[nodiscard]] bool others_run() const;
  /// For how long, as far as the watch knows, no other thread than the caller has computed.
  Nanoseconds others_idle(Watch& watch) const;

 private:
  struct Entry {
    std::atomic<pid_t> thread = 0;  ///< 0: free, -1: being taken
    std::atomic<bool> helper = false;
  };

  std::array<Entry, most> entries_;
  std::atomic<std::size_t> end_ = 0;  ///< all beyond are free
};

}  // namespace isthmus::card::clock

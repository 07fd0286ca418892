// Transfers that overlap in simulated time: each thread of a program has a separate time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// Each direction has the board's channels, and a link that they share. A transfer holds the link
/// for as long as all channels together need for its bytes. It holds its channel for as long as one
/// channel alone needs. Work before and after the data (software, doorbell, interrupt) overlaps
/// with other transfers. Transfers of both directions share their common limit: the link, host
/// memory, and the bank of card memory if both use the same bank.
///
/// Add transfers in the order in which they begin. Times are femtoseconds modulo 2^64.
class TransferQueue {
 public:
  explicit TransferQueue(Timing& timing);

  /// Adds a transfer that begins at `now`, and takes `alone` on an idle machine; returns its cost.
  Cost add(std::uint64_t now, Direction direction, std::int64_t bytes, std::size_t bank,
           const Cost& alone);

 private:
  struct Way {
    std::vector<std::uint64_t> channels;  ///< time at which each channel is free
    std::uint64_t link = 0;               ///< time at which the link is free
    Time latency = -1;                    ///< time of a transfer without data; -1: not yet known
    std::size_t bank = 0;                 ///< bank of the last transfer
  };

  Timing* timing_;
  std::array<Way, 2> ways_;
  bool any_ = false;
};

}  // namespace isthmus::card::process

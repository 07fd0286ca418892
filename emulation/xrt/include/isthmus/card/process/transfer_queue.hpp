// Computes how transfers that overlap in simulated time slow one another: threads have separate
// times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// Each direction has the board's channels, and a link that they share. A transfer uses the link
/// for as long as all channels together need for its bytes. It uses its channel for as long as one
/// channel alone needs. Work before and after the data (software, doorbell, interrupt) overlaps
/// with other transfers.
///
/// Transfers of both directions share a further limit: the link, host memory, and the bank of card
/// memory if both use the same bank.
///
/// Add transfers in the order in which they begin. Times are femtoseconds modulo 2^64.
class TransferQueue {
 public:
  explicit TransferQueue(Timing& timing);

  /// Adds a transfer that begins at `now` and takes `alone` on an idle machine; returns its
  /// duration.
  Cost add(std::uint64_t now, Direction direction, std::int64_t bytes, std::size_t bank,
           const Cost& alone);

 private:
  struct Way {
    std::vector<std::uint64_t> channels;  ///< when each channel becomes free
    std::uint64_t link = 0;               ///< when the link becomes free
    Time latency = -1;                    ///< time of a transfer without data; -1: not computed yet
    std::size_t bank = 0;                 ///< bank of the previous transfer
  };

  Timing* timing_;
  std::array<Way, 2> ways_;
  bool any_ = false;
};

}  // namespace isthmus::card::process

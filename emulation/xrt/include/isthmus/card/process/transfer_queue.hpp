// Transfers that overlap in simulated time: threads of a program have times of their own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// Each direction has the board's channels, and a link that they share: each transfer holds it for
/// as long as the channels together need for its bytes, and its channel for as long as one alone
/// needs. What comes before and after the data (software, doorbell, interrupt) overlaps with
/// others. One that meets a transfer of the other direction gets what that leaves of their common
/// limit: link, host memory, and the bank of card memory where both use the same.
///
/// Transfers are to be added in the order in which they begin. Times are femtoseconds modulo 2^64.
class TransferQueue {
 public:
  explicit TransferQueue(Timing& timing);

  /// A transfer of a bank that begins at `now` and would take `alone`; what it takes.
  Cost add(std::uint64_t now, Direction direction, std::int64_t bytes, std::size_t bank,
           const Cost& alone);

 private:
  struct Way {
    std::vector<std::uint64_t> channels;  ///< when each is free
    std::uint64_t link = 0;               ///< when it is free
    Time latency = -1;                    ///< of a transfer without data; -1: not yet known
    std::size_t bank = 0;                 ///< of the last transfer
  };

  Timing* timing_;
  std::array<Way, 2> ways_;
  bool any_ = false;
};

}  // namespace isthmus::card::process

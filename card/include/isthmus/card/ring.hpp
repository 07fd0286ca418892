// Simulates cards that serial channels connect to a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card {

/// An exchange: in each step every card sends a message to both neighbours and receives one from
/// both. The send kernel sends to the right, then receives from there. The receive kernel receives
/// from the left, then sends there. If `in_turn` of the board is false, both kernels send and
/// receive at once.
struct RingCall {
  std::int64_t cards = 1;  ///< one card sends to itself
  std::size_t bytes = 1;   ///< size of a message
  std::int64_t steps = 1;
  std::int64_t depth = 1;  ///< flits that a channel holds, on the wire and in its buffer
};

struct RingTime {
  Time slowest = 0;  ///< longest time of any card, from the barrier to the end
  std::int64_t simulated_cards = 0;
  std::int64_t skipped_steps = 0;  ///< most steps that were skipped for a card
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< number of messages that were received and checked
  std::uint64_t wrong = 0;     ///< number of messages with wrong data
  std::string first_wrong;     ///< describes where the first wrong message was found
};

/// Simulates a ring by events. Messages have real data: they cross a channel flit by flit, as far
/// as it has room, and the receiver checks every byte.
///
/// No depth and no size can block the ring. Of a link's two kernels one receives while the other
/// sends, or both do both, so no kernel waits for room that only it can make.
///
/// `fast_forward` skips two things without any change of times. Steps are skipped that repeat the
/// state of the previous step. Cards are skipped that behave as other cards: links affect each
/// other only if they share a wire.
class Ring {
 public:
  /// Throws BoardError for parameters that no ring can have.
  Ring(const SerialParameters& serial, const FaultParameters& faults, const RingCall& call,
       bool fast_forward);

  /// Runs the exchange; the messages' data depend on `seed`.
  RingTime run(std::uint64_t seed);
  /// Returns whether each kernel still holds the last message of a run with this seed.
  [[nodiscard]] bool holds_last(std::uint64_t seed) const;

 private:
  class Bundle;
  struct Kernel {
    std::vector<std::byte> out;
    std::vector<std::byte> in;
  };
  struct Link {
    Kernel left;   ///< the kernel at the link's begin, which sends first
    Kernel right;  ///< the kernel at the link's end, which receives first
  };

  SerialParameters serial_;
  FaultParameters faults_;
  RingCall call_;
  bool fast_forward_;
  std::vector<Link> links_;  ///< link from card n to the next card
};

/// Steps of one timed loop in the published runs.
inline constexpr std::int64_t published_steps = 16'384;

}  // namespace isthmus::card

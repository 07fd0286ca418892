// Cards that serial channels connect to a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card {

/// An exchange of messages. In each step every card sends a message to both neighbours, and takes a
/// message from both. The send kernel sends to the right, then takes a message from there. The
/// receive kernel takes a message from the left, then sends one there. With `in_turn` false in the
/// board, both kernels send and take at once.
struct RingCall {
  std::int64_t cards = 1;  ///< a single card sends to itself
  std::size_t bytes = 1;   ///< size of a message
  std::int64_t steps = 1;
  std::int64_t depth = 1;  ///< flits that a channel holds, on the wire and behind it
};

struct RingTime {
  Time slowest = 0;  ///< longest time of a card since it left the barrier
  std::int64_t simulated_cards = 0;
  std::int64_t skipped_steps = 0;  ///< of any card
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< messages that were received and checked
  std::uint64_t wrong = 0;     ///< messages with wrong data
  std::string first_wrong;     ///< text: place of the first wrong message
};

/// A ring on the event kernel. Messages have real data: they cross a channel flit by flit, as far
/// as it has room, and the receiver checks every byte.
///
/// No depth and no size can block the ring. Of the two kernels of a link one takes while the other
/// sends, or both do both, so no kernel waits for room that only it can make. With `fast_forward`
/// two parts are skipped, with exactly the same times: steps that repeat the last step's state, and
/// cards that behave as other cards (links affect each other only if they share a wire).
class Ring {
 public:
  /// Throws BoardError for impossible parameters.
  Ring(const SerialParameters& serial, const FaultParameters& faults, const RingCall& call,
       bool fast_forward);

  /// Runs the exchange. `seed`: of the messages' data.
  RingTime run(std::uint64_t seed);
  /// Whether each kernel still holds the last message of a run with that seed.
  [[nodiscard]] bool holds_last(std::uint64_t seed) const;

 private:
  class Bundle;
  struct Kernel {
    std::vector<std::byte> out;
    std::vector<std::byte> in;
  };
  struct Link {
    Kernel left;   ///< kernel that sends first
    Kernel right;  ///< kernel that takes first
  };

  SerialParameters serial_;
  FaultParameters faults_;
  RingCall call_;
  bool fast_forward_;
  std::vector<Link> links_;  ///< link from each card to the next card
};

/// Steps of one loop in the published runs.
inline constexpr std::int64_t published_steps = 16'384;

}  // namespace isthmus::card

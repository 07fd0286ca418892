// Cards in a ring over their serial channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/time.hpp"

namespace isthmus::card {

/// What the cards exchange. In each step every card sends a message to both its neighbours and
/// takes one from both: its send kernel sends to the right and then takes what comes back, its
/// receive kernel takes from the left and then sends back. Where the board says so (`in_turn`
/// false) both send and take at once.
struct RingCall {
  std::int64_t cards = 1;  ///< one is its own neighbour
  std::size_t bytes = 1;   ///< of a message
  std::int64_t steps = 1;
  std::int64_t depth = 1;  ///< flits that a channel holds, on the wire and behind it
};

struct RingTime {
  Time slowest = 0;  ///< of the cards' own times, from their way out of the barrier
  std::int64_t simulated_cards = 0;
  std::int64_t skipped_steps = 0;  ///< of any card
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< that were taken, and checked
  std::uint64_t wrong = 0;     ///< of them
  std::string first_wrong;     ///< where, in words
};

/// A ring on the event kernel. Messages are data: each takes the way flit by flit, as far as the
/// channel holds them, and is checked byte by byte where it is taken.
///
/// No depth and no size can block it: of the two kernels of a link one takes while the other sends,
/// or both do both, so that none waits for room that only itself could make. With ``fast_forward``
/// two things are left out, exactly: steps that repeat the state of the one before, and cards of
/// which others are the image (links do not touch one another but where they share a wire).
class Ring {
 public:
  /// Throws BoardError for what is no ring.
  Ring(const SerialParameters& serial, const FaultParameters& faults, const RingCall& call,
       bool fast_forward);

  /// `seed` is of the messages' data.
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
    Kernel left;   ///< sends first
    Kernel right;  ///< takes first
  };

  SerialParameters serial_;
  FaultParameters faults_;
  RingCall call_;
  bool fast_forward_;
  std::vector<Link> links_;  ///< from each card to the next
};

/// Steps of one loop in the published runs.
inline constexpr std::int64_t published_steps = 16'384;

}  // namespace isthmus::card

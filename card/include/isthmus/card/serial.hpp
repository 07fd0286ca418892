// Serial channels from card to card.
#pragma once

#include <array>
#include <cstdint>

#include "isthmus/card/board.hpp"
#include "isthmus/card/host.hpp"

namespace isthmus::card {

/// The channels between two neighbours, each direction by itself. A message is spread over all
/// channels of its direction.
class SerialLink {
 public:
  /// `boards`: how many take part; between more than one a hop is added.
  SerialLink(const SerialParameters& parameters, int boards);

  /// Sends `bytes` at `now` from side 0 or 1; returns when all of it is usable at the other.
  Time send(Time now, int side, std::int64_t bytes);
  /// Both neighbours send at once; returns when both have what the other sent.
  Time exchange(Time now, std::int64_t bytes);

 private:
  std::int64_t cycle_bytes_;
  Pace cycle_;
  Time latency_;
  std::array<Server, 2> sides_{};
};

}  // namespace isthmus::card

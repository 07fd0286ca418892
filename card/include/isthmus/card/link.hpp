// Computes when each packet crosses the PCIe link.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isthmus/card/board.hpp"
#include "isthmus/card/event.hpp"

namespace isthmus::card {

/// Direction on the link. Down: from host to card; up: from card to host.
enum class Way : std::uint8_t { down, up };

/// Kinds of transaction layer packets; writes and completions carry data.
enum class Packet : std::uint8_t { write, read_request, completion };

/// A link with two directions. Each has a wire and, at the card's end, a user bus. A packet passes
/// both at once, so the slower of the two sets its pace.
class Link {
 public:
  Link(const LinkParameters& parameters, std::uint64_t seed);

  /// Sends a packet with `bytes` of data at `now`. Returns when its last byte is usable at the
  /// other end. Acknowledgements and credits for it take bytes of the other direction.
  Time send(Time now, Way way, Packet packet, std::int64_t bytes);

  /// Returns when the user bus is free for the next packet with data.
  [[nodiscard]] Time bus_free(Way way) const { return lane(way).bus_free; }

  /// Returns the bytes that a packet takes on the wire.
  [[nodiscard]] std::int64_t wire_bytes(Packet packet, std::int64_t bytes) const;
  [[nodiscard]] Time wire_time(Packet packet, std::int64_t bytes) const {
    return byte_.of(wire_bytes(packet, bytes));
  }
  /// Returns how long a packet takes on the user bus; 0 for read requests.
  [[nodiscard]] Time bus_time(Packet packet, std::int64_t bytes) const;
  [[nodiscard]] Time latency() const { return latency_; }
  [[nodiscard]] Time credit_return() const { return credit_return_; }
  /// Returns whether packets are corrupted at random.
  [[nodiscard]] bool random() const { return parameters_.error_rate > 0; }
  [[nodiscard]] std::uint64_t replays() const { return replays_; }
  [[nodiscard]] const LinkParameters& parameters() const { return parameters_; }

  /// Makes the link idle; `sample` chooses which packets are corrupted.
  void reset(std::uint64_t sample = 0);
  void save(State& state, Time now) const;

 private:
  struct Lane {
    Time wire_free = 0;
    Time bus_free = 0;
    std::int64_t unacknowledged = 0;
  };

  [[nodiscard]] const Lane& lane(Way way) const { return lanes_[static_cast<std::size_t>(way)]; }

  LinkParameters parameters_;
  std::int64_t around_bytes_;       ///< bytes of framing around a packet
  std::int64_t acknowledge_bytes_;  ///< bytes of an acknowledgement with its credits
  Pace byte_;
  Pace bus_cycle_;
  Pace bus_byte_;
  Time latency_;
  Time credit_return_;
  std::uint64_t corrupted_below_ = 0;
  std::uint64_t seed_;
  Random random_;
  std::uint64_t replays_ = 0;
  std::array<Lane, 2> lanes_{};
};

/// Calls `visit(bytes)` for each completion of a read, whose size is at most the maximum payload.
/// The first ends at a read completion boundary, where the following ones start.
template <class Visit>
void split_completions(const LinkParameters& link, std::uint64_t address, std::int64_t bytes,
                       const Visit& visit) {
  const auto boundary = static_cast<std::uint64_t>(link.read_completion_boundary_bytes);
  std::int64_t most = link.max_payload_bytes - static_cast<std::int64_t>(address % boundary);
  while (bytes > 0) {
    const std::int64_t part = std::min(bytes, most);
    visit(part);
    bytes -= part;
    most = link.max_payload_bytes;
  }
}

}  // namespace isthmus::card

// The PCIe link, packet by packet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isthmus/card/board.hpp"
#include "isthmus/card/event.hpp"

namespace isthmus::card {

/// Down: host to card. Up: card to host.
enum class Way : std::uint8_t { down, up };

/// Kinds of transaction layer packets. Completions carry data.
enum class Packet : std::uint8_t { write, read_request, completion };

/// Two directions that serialise packets. Each has a wire and, at the card's end, a user bus that
/// data pass; a packet is cut through both, so that the slower of the two sets its pace.
class Link {
 public:
  Link(const LinkParameters& parameters, std::uint64_t seed);

  /// Hands a packet of `bytes` of data over at `now`. Returns when its last byte is usable at the
  /// other end. Acknowledgements and credits for it are charged to the other direction.
  Time send(Time now, Way way, Packet packet, std::int64_t bytes);

  /// When the user bus takes the next packet with data.
  [[nodiscard]] Time bus_free(Way way) const { return lane(way).bus_free; }

  /// Bytes that a packet takes on the wire.
  [[nodiscard]] std::int64_t wire_bytes(Packet packet, std::int64_t bytes) const;
  [[nodiscard]] Time wire_time(Packet packet, std::int64_t bytes) const {
    return byte_.of(wire_bytes(packet, bytes));
  }
  /// Time on the user bus; read requests use none.
  [[nodiscard]] Time bus_time(Packet packet, std::int64_t bytes) const;
  [[nodiscard]] Time latency() const { return latency_; }
  [[nodiscard]] Time credit_return() const { return credit_return_; }
  /// Whether chance has a part in it.
  [[nodiscard]] bool random() const { return parameters_.error_rate > 0; }
  [[nodiscard]] std::uint64_t replays() const { return replays_; }
  [[nodiscard]] const LinkParameters& parameters() const { return parameters_; }

  /// All idle; chance begins anew, for every sample another way.
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
  std::int64_t around_bytes_;       ///< on the wire around each packet
  std::int64_t acknowledge_bytes_;  ///< on the wire for each acknowledgement with credits
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

/// First completion of a read ends at a read completion boundary, every one but it starts there,
/// none is larger than the maximum payload. Calls `visit(bytes)` for each.
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

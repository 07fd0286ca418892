#include "isthmus/card/link.hpp"

#include <algorithm>
#include <cmath>

namespace isthmus::card {
namespace {

/// Femtoseconds per byte on all lanes together, with line coding and the share of clock
/// compensation (SKP ordered sets).
double byte_femtoseconds(int generation, int lanes) {
  constexpr std::array<double, 6> gigatransfers = {0, 2.5, 5, 8, 16, 32};
  const double coding = generation <= 2 ? 0.8 : 128.0 / 130.0;
  const double stretch = generation <= 2 ? 1 + 4.0 / 1538.0 : 1 + 1.0 / 371.0;
  const double bits_per_second =
      gigatransfers.at(static_cast<std::size_t>(generation)) * 1e9 * coding * lanes;
  return 8.0 / bits_per_second * static_cast<double>(second) * stretch;
}

/// Header that a packet with data takes on the user bus.
constexpr std::int64_t bus_header_bytes = 16;

}  // namespace

Link::Link(const LinkParameters& parameters, std::uint64_t seed)
    : parameters_(parameters),
      byte_(byte_femtoseconds(parameters.generation, parameters.lanes)),
      bus_cycle_(Pace::of_clock(parameters.user_clock_MHz)),
      bus_byte_(Pace::of_rate(parameters.user_clock_MHz * 1e6 *
                              static_cast<double>(parameters.user_bus_bytes))),
      latency_(from_nanoseconds(parameters.latency_ns)),
      credit_return_(from_nanoseconds(parameters.credit_return_ns)),
      // Rates are at most a half, so the product fits.
      corrupted_below_(static_cast<std::uint64_t>(std::ldexp(parameters.error_rate, 63)) << 1U),
      seed_(seed),
      random_(seed) {}

std::int64_t Link::wire_bytes(Packet packet, std::int64_t bytes) const {
  const std::int64_t request = parameters_.address_bits == 64 ? 24 : 20;
  switch (packet) {
    case Packet::write:
      return bytes + request;
    case Packet::read_request:
      return request;
    default:
      return bytes + 20;
  }
}

Time Link::bus_time(Packet packet, std::int64_t bytes) const {
  if (packet == Packet::read_request) {
    return 0;
  }
  const std::int64_t whole = bytes + bus_header_bytes;
  if (parameters_.straddle) {
    return bus_byte_.of(whole);
  }
  const std::int64_t width = parameters_.user_bus_bytes;
  return bus_cycle_.of((whole + width - 1) / width);
}

Time Link::send(Time now, Way way, Packet packet, std::int64_t bytes) {
  Lane& lane = lanes_[static_cast<std::size_t>(way)];
  const Time wire = wire_time(packet, bytes);
  Time start = std::max(now, lane.wire_free);
  Time end = start;
  if (packet == Packet::read_request) {
    end += wire;
  } else {
    if (way == Way::up) {
      start = std::max(start, lane.bus_free);
    }
    const Time bus_start = std::max(start, lane.bus_free);
    lane.bus_free = bus_start + bus_time(packet, bytes);
    end = std::max(start + wire, lane.bus_free);
  }
  lane.wire_free = start + wire;
  while (corrupted_below_ != 0 && random_() < corrupted_below_) {
    // The receiver's refusal crosses back; this packet and all behind it are sent again, so that
    // nothing useful crosses until then.
    ++replays_;
    start = std::max(end, lane.wire_free) + 2 * latency_ + byte_.of(parameters_.acknowledge_bytes);
    lane.wire_free = start + wire;
    end = lane.wire_free;
  }
  lane.unacknowledged += wire_bytes(packet, bytes);
  if (lane.unacknowledged >= parameters_.acknowledge_every_bytes) {
    const std::int64_t count = lane.unacknowledged / parameters_.acknowledge_every_bytes;
    lane.unacknowledged -= count * parameters_.acknowledge_every_bytes;
    Lane& other = lanes_[1 - static_cast<std::size_t>(way)];
    other.wire_free =
        std::max(other.wire_free, now) + byte_.of(count * parameters_.acknowledge_bytes);
  }
  return end + latency_;
}

void Link::reset(std::uint64_t sample) {
  lanes_ = {};
  // A number of the seed's own sequence, far from those of other samples.
  random_ = Random(sample == 0 ? seed_ : Random(seed_ ^ sample << 32U)());
  replays_ = 0;
}

void Link::save(State& state, Time now) const {
  for (const Lane& lane : lanes_) {
    state.push_back(ahead(lane.wire_free, now));
    state.push_back(ahead(lane.bus_free, now));
    state.push_back(lane.unacknowledged);
  }
}

}  // namespace isthmus::card

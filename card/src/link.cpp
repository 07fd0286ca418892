#include "isthmus/card/link.hpp"

#include <algorithm>
#include <cmath>

namespace isthmus::card {
namespace {

/// How lanes of a PCIe generation carry packets (PCI Express Base Specification, 3.6 and 4.2).
struct Coding {
  double gigatransfers = 0;
  double share = 0;          ///< packets' share of all bytes on the lanes
  double compensation = 1;   ///< time with SKP ordered sets, over the time without
  std::int64_t around = 8;   ///< bytes around each packet: framing, sequence number and LCRC
  bool acknowledges = true;  ///< acknowledgements are packets of their own; FLITs contain them
};

constexpr double skp_8b10b = 1 + 4.0 / 1538.0;
constexpr double skp_128b130b = 1 + 1.0 / 371.0;

/// Index: generation minus 1. From generation 6 on, packets fill 236 of a FLIT's 256 bytes, with
/// one checksum for all. SKP sets are not counted there (`isthmus.models.pcie` says why).
constexpr std::array<Coding, 6> codings = {{
    {.gigatransfers = 2.5, .share = 0.8, .compensation = skp_8b10b},
    {.gigatransfers = 5, .share = 0.8, .compensation = skp_8b10b},
    {.gigatransfers = 8, .share = 128.0 / 130.0, .compensation = skp_128b130b},
    {.gigatransfers = 16, .share = 128.0 / 130.0, .compensation = skp_128b130b},
    {.gigatransfers = 32, .share = 128.0 / 130.0, .compensation = skp_128b130b},
    {.gigatransfers = 64, .share = 236.0 / 256.0, .around = 0, .acknowledges = false},
}};

const Coding& coding_of(int generation) {
  return codings.at(static_cast<std::size_t>(generation) - 1);
}

/// Returns the femtoseconds that a byte of packets takes on all lanes together.
double byte_femtoseconds(const Coding& coding, int lanes) {
  const double bits_per_second = coding.gigatransfers * 1e9 * coding.share * lanes;
  return 8.0 / bits_per_second * static_cast<double>(second) * coding.compensation;
}

/// Bytes of a completion's header.
constexpr std::int64_t completion_header_bytes = 12;
/// Bytes of the header of a packet with data on the user bus.
constexpr std::int64_t bus_header_bytes = 16;

}  // namespace

Link::Link(const LinkParameters& parameters, std::uint64_t seed)
    : parameters_(parameters),
      around_bytes_(coding_of(parameters.generation).around),
      acknowledge_bytes_(
          coding_of(parameters.generation).acknowledges ? parameters.acknowledge_bytes : 0),
      byte_(byte_femtoseconds(coding_of(parameters.generation), parameters.lanes)),
      bus_cycle_(Pace::of_clock(parameters.user_clock_MHz)),
      bus_byte_(Pace::of_rate(parameters.user_clock_MHz * 1e6 *
                              static_cast<double>(parameters.user_bus_bytes))),
      latency_(from_nanoseconds(parameters.latency_ns)),
      credit_return_(from_nanoseconds(parameters.credit_return_ns)),
      // A rate is at most a half, so the product fits into 64 bits.
      corrupted_below_(static_cast<std::uint64_t>(std::ldexp(parameters.error_rate, 63)) << 1U),
      seed_(seed),
      random_(seed) {}

std::int64_t Link::wire_bytes(Packet packet, std::int64_t bytes) const {
  const std::int64_t request = (parameters_.address_bits == 64 ? 16 : 12) + around_bytes_;
  switch (packet) {
    case Packet::write:
      return bytes + request;
    case Packet::read_request:
      return request;
    default:
      return bytes + completion_header_bytes + around_bytes_;
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
    // The receiver's NAK crosses back, then this packet and all packets behind it are sent again.
    // Until then nothing useful crosses.
    ++replays_;
    start = std::max(end, lane.wire_free) + 2 * latency_ + byte_.of(acknowledge_bytes_);
    lane.wire_free = start + wire;
    end = lane.wire_free;
  }
  lane.unacknowledged += wire_bytes(packet, bytes);
  if (lane.unacknowledged >= parameters_.acknowledge_every_bytes) {
    const std::int64_t count = lane.unacknowledged / parameters_.acknowledge_every_bytes;
    lane.unacknowledged -= count * parameters_.acknowledge_every_bytes;
    Lane& other = lanes_[1 - static_cast<std::size_t>(way)];
    other.wire_free = std::max(other.wire_free, now) + byte_.of(count * acknowledge_bytes_);
  }
  return end + latency_;
}

void Link::reset(std::uint64_t sample) {
  lanes_ = {};
  // A random number is the next seed, so that samples have unrelated sequences.
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

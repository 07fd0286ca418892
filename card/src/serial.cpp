#include "isthmus/card/serial.hpp"

#include <algorithm>

namespace isthmus::card {

SerialLink::SerialLink(const SerialParameters& parameters, int boards)
    : cycle_bytes_(parameters.width_bytes * parameters.channels),
      cycle_(static_cast<double>(second) / (parameters.clock_MHz * 1e6) * parameters.stretch),
      latency_(from_nanoseconds(parameters.latency_ns + (boards > 1 ? parameters.hop_ns : 0))) {}

Time SerialLink::send(Time now, int side, std::int64_t bytes) {
  Server& wire = sides_.at(static_cast<std::size_t>(side));
  wire.claim(now, cycle_.of((bytes + cycle_bytes_ - 1) / cycle_bytes_));
  return wire.free + latency_;
}

Time SerialLink::exchange(Time now, std::int64_t bytes) {
  return std::max(send(now, 0, bytes), send(now, 1, bytes));
}

}  // namespace isthmus::card

// AXI-Stream for RTL kernels: the beats of a serial channel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "isthmus/card/axi.hpp"

namespace isthmus::card {

/// One beat: `keep` has a bit for each valid byte, `last` ends a message.
struct StreamBeat {
  std::array<std::byte, 32> data{};
  std::uint32_t keep = 0;
  bool last = false;
  bool operator==(const StreamBeat&) const = default;
};

/// The channel side of a sender or receiver; each function is called at most once an edge.
class StreamPort {
 public:
  StreamPort() = default;
  StreamPort(const StreamPort&) = delete;
  StreamPort& operator=(const StreamPort&) = delete;
  virtual ~StreamPort() = default;

  /// Takes a beat (TREADY), or refuses it for now.
  virtual bool put(const StreamBeat& beat, Time now) = 0;
  /// Returns the next beat if it has arrived by `now`; the caller holds it until the kernel takes
  /// it.
  virtual std::optional<StreamBeat> get(Time now) = 0;
};

/// A serial channel: beats begin to cross it at least `beat_time` apart, and arrive `latency`
/// later. At most `capacity` beats are on their way.
class SerialChannel final : public StreamPort {
 public:
  SerialChannel(Time latency, Time beat_time, std::size_t capacity = SIZE_MAX)
      : latency_(latency), link_(beat_time), capacity_(capacity) {}

  bool put(const StreamBeat& beat, Time now) override;
  std::optional<StreamBeat> get(Time now) override;

 private:
  struct OnItsWay {
    StreamBeat beat;
    Time arrival = 0;
  };
  Time latency_;
  BeatLink link_;
  std::size_t capacity_;
  std::deque<OnItsWay> beats_;
};

}  // namespace isthmus::card

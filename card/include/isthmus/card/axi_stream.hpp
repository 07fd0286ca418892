// AXI-Stream as an RTL kernel sees it: beats of a serial channel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "isthmus/card/axi.hpp"

namespace isthmus::card {

/// One beat: `keep` has a bit for each byte that counts, `last` ends a message.
struct StreamBeat {
  std::array<std::byte, 32> data{};
  std::uint32_t keep = 0;
  bool last = false;
  bool operator==(const StreamBeat&) const = default;
};

/// What a sender or a receiver is connected to; asked at most once an edge for each function.
class StreamPort {
 public:
  StreamPort() = default;
  StreamPort(const StreamPort&) = delete;
  StreamPort& operator=(const StreamPort&) = delete;
  virtual ~StreamPort() = default;

  /// Takes a beat (TREADY), or refuses it for now.
  virtual bool put(const StreamBeat& beat, Time now) = 0;
  /// The next beat if it is here by `now`; the caller then holds it until the kernel takes it.
  virtual std::optional<StreamBeat> get(Time now) = 0;
};

/// A serial channel: beats begin to cross it `beat_time` apart or more, and arrive `latency` later;
/// at most `capacity` are on their way.
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

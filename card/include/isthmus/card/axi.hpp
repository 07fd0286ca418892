// AXI as an RTL kernel sees it: bursts go out, answers come back later in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "isthmus/card/time.hpp"

namespace isthmus::card {

/// A burst of consecutive beats; it crosses no 4 KiB boundary.
struct Burst {
  std::uint64_t address = 0;
  std::uint32_t beats = 0;
  std::uint32_t beat_bytes = 0;
  std::uint32_t id = 0;

  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{beats} * beat_bytes; }
  bool operator==(const Burst&) const = default;
};

/// How a beat of read data or a written burst was answered (RRESP, BRESP).
enum class Response : std::uint8_t { okay = 0, slave_error = 2, decode_error = 3 };

/// What an AXI master is connected to. Asked at rising edges of the kernel's clock, at most once an
/// edge for each function; what is refused is offered again, unchanged, at the next edge. Answers
/// are pulled: an event model puts what arrives into queues, and these functions look there. All
/// bursts of a master have one ID, so answers come in the order of the bursts.
class MemoryPort {
 public:
  MemoryPort() = default;
  MemoryPort(const MemoryPort&) = delete;
  MemoryPort& operator=(const MemoryPort&) = delete;
  virtual ~MemoryPort() = default;

  /// Takes a read burst (ARREADY), or refuses it for now.
  virtual bool read(const Burst& burst, Time now) = 0;
  /// Fills `data` with the next beat if it is here by `now`; the caller then holds it (RVALID)
  /// until the kernel takes it, and asks for no other meanwhile.
  virtual std::optional<Response> read_beat(std::span<std::byte> data, Time now) = 0;

  /// Takes a write burst (AWREADY), or refuses it for now.
  virtual bool write(const Burst& burst, Time now) = 0;
  /// Takes a beat of write data (WREADY), or refuses it for now. Bit n of `strobes`: byte n is to
  /// be written. `last` is WLAST. A burst's first beat may come before the burst itself was taken.
  virtual bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                          Time now) = 0;
  /// The answer to the oldest unanswered write burst, if it is here by `now`.
  virtual std::optional<Response> write_response(Time now) = 0;
};

/// One direction of a link: a beat takes `beat_time`, and one more may wait for it.
class BeatLink {
 public:
  explicit BeatLink(Time beat_time) : beat_time_(beat_time) {}
  [[nodiscard]] bool ready(Time now) const { return free_ <= now || free_ - now < beat_time_; }
  /// Sends a beat; when it begins to cross the link.
  Time send(Time now) {
    const Time begin = free_ > now ? free_ : now;
    free_ = begin + beat_time_;
    return begin;
  }

 private:
  Time beat_time_;
  Time free_ = 0;
};

/// What LinkedMemory is made of. Times in femtoseconds, `beat_time` per beat and direction.
struct LinkedMemoryOptions {
  Time read_latency = 0;   ///< burst taken -> its first beat has begun to arrive
  Time write_latency = 0;  ///< last beat has crossed the link -> response
  Time beat_time = 0;      ///< 0: as fast as the kernel takes them
  std::size_t reads_in_flight = SIZE_MAX;
  std::size_t writes_in_flight = SIZE_MAX;
};

/// What lies at addresses: each function says whether all of the bytes were there.
struct Contents {
  std::function<bool(std::uint64_t address, std::span<std::byte> to)> read;
  /// Bit n of `strobes`: byte n is to be written.
  std::function<bool(std::uint64_t address, std::span<const std::byte> from, std::uint64_t strobes)>
      write;
};

/// Memory behind a link: a latency, a rate for each direction, so many bursts in flight.
class LinkedMemory : public MemoryPort {
 public:
  /// `bytes` lie at `base`; what a burst touches outside of them is answered with decode_error.
  LinkedMemory(std::uint64_t base, std::span<std::byte> bytes, LinkedMemoryOptions options);
  LinkedMemory(Contents contents, LinkedMemoryOptions options);

  bool read(const Burst& burst, Time now) override;
  std::optional<Response> read_beat(std::span<std::byte> data, Time now) override;
  bool write(const Burst& burst, Time now) override;
  bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                  Time now) override;
  std::optional<Response> write_response(Time now) override;

 private:
  struct Pending {
    Burst burst;
    Time ready = 0;  ///< read: the first beat is here; write: the response is
    std::uint32_t moved = 0;
    Response response = Response::okay;
  };

  Contents contents_;
  LinkedMemoryOptions options_;
  std::deque<Pending> reads_;
  std::deque<Pending> writes_;     ///< taken, data not complete
  std::deque<Pending> responses_;  ///< data complete, response on its way
  Time read_link_free_ = 0;
  BeatLink write_link_;
};

}  // namespace isthmus::card

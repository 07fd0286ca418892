// AXI for RTL kernels: a kernel sends bursts, and answers come later in simulated time.
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

/// Response to a beat of read data (RRESP) or to a written burst (BRESP).
enum class Response : std::uint8_t { okay = 0, slave_error = 2, decode_error = 3 };

/// The memory side of an AXI master. The bench calls each function at most once at each rising edge
/// of the kernel's clock. It offers a refused burst or beat again, unchanged, at the next edge. An
/// event model puts arriving answers into queues, from which these functions take them. All bursts
/// of a master have one ID, so answers come in the order of the bursts.
class MemoryPort {
 public:
  MemoryPort() = default;
  MemoryPort(const MemoryPort&) = delete;
  MemoryPort& operator=(const MemoryPort&) = delete;
  virtual ~MemoryPort() = default;

  /// Takes a read burst (ARREADY), or refuses it for now.
  virtual bool read(const Burst& burst, Time now) = 0;
  /// Fills `data` with the next beat if it has arrived by `now`. The caller then holds the beat
  /// (RVALID) until the kernel takes it, and makes no further call meanwhile.
  virtual std::optional<Response> read_beat(std::span<std::byte> data, Time now) = 0;

  /// Takes a write burst (AWREADY), or refuses it for now.
  virtual bool write(const Burst& burst, Time now) = 0;
  /// Takes a beat of write data (WREADY), or refuses it for now. Bit n of `strobes`: byte n is to
  /// be written. `last` is WLAST. A burst's first beat may come before the burst itself was taken.
  virtual bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                          Time now) = 0;
  /// Returns the response to the oldest write burst without one, if it has arrived by `now`.
  virtual std::optional<Response> write_response(Time now) = 0;
};

/// One direction of a link: a beat takes `beat_time`, and one further beat may wait.
class BeatLink {
 public:
  explicit BeatLink(Time beat_time) : beat_time_(beat_time) {}
  [[nodiscard]] bool ready(Time now) const { return free_ <= now || free_ - now < beat_time_; }
  /// Sends a beat; returns the time at which it begins to cross the link.
  Time send(Time now) {
    const Time begin = free_ > now ? free_ : now;
    free_ = begin + beat_time_;
    return begin;
  }

 private:
  Time beat_time_;
  Time free_ = 0;
};

/// Parameters of LinkedMemory. Times in femtoseconds; `beat_time` for each beat and direction.
struct LinkedMemoryOptions {
  Time read_latency = 0;   ///< burst taken -> its first beat has begun to arrive
  Time write_latency = 0;  ///< last beat has crossed the link -> response
  Time beat_time = 0;      ///< 0: as fast as the kernel takes them
  std::size_t reads_in_flight = SIZE_MAX;
  std::size_t writes_in_flight = SIZE_MAX;
};

/// Access to bytes by address; each function returns whether all bytes exist.
struct Contents {
  std::function<bool(std::uint64_t address, std::span<std::byte> to)> read;
  /// Bit n of `strobes`: byte n is to be written.
  std::function<bool(std::uint64_t address, std::span<const std::byte> from, std::uint64_t strobes)>
      write;
};

/// Memory behind a link with a latency, a rate for each direction, and a limit of bursts in flight.
class LinkedMemory : public MemoryPort {
 public:
  /// `bytes` lie at `base`; a burst outside of them gets decode_error.
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
    Time ready = 0;  ///< arrival of a read's first beat, or of a write's response
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

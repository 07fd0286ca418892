// AXI memory for RTL kernels: a kernel sends bursts, and answers come later in simulated time.
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

/// The memory to which an AXI master is connected. The bench calls each function at most once at a
/// rising edge of the kernel's clock. It offers a refused burst or beat again, unchanged, at the
/// next edge.
///
/// An event model queues the answers that arrive, and these functions take them from the queues.
/// All bursts of a master have one ID, so answers come in the order of bursts.
class MemoryPort {
 public:
  MemoryPort() = default;
  MemoryPort(const MemoryPort&) = delete;
  MemoryPort& operator=(const MemoryPort&) = delete;
  virtual ~MemoryPort() = default;

  /// Takes a read burst (ARREADY) and returns true, or refuses it at this edge.
  virtual bool read(const Burst& burst, Time now) = 0;
  /// Fills `data` with the next beat of read data and returns its response; returns nothing if the
  /// beat has not arrived by `now`. The caller offers the beat to the kernel (RVALID). It asks for
  /// the next beat after the kernel has taken this one (RREADY).
  virtual std::optional<Response> read_beat(std::span<std::byte> data, Time now) = 0;

  /// Takes a write burst (AWREADY) and returns true, or refuses it at this edge.
  virtual bool write(const Burst& burst, Time now) = 0;
  /// Takes a beat of write data (WREADY) and returns true; returns false if the port refuses it at
  /// this clock edge. The memory keeps byte n if bit n of `strobes` is 0. `last` is WLAST. A beat
  /// may come before the port has taken its burst.
  virtual bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                          Time now) = 0;
  /// Returns the response to the oldest write burst without one, if it has arrived by `now`.
  virtual std::optional<Response> write_response(Time now) = 0;
};

/// One direction of a link. Each beat takes `beat_time`, and one more beat may wait.
class BeatLink {
 public:
  explicit BeatLink(Time beat_time) : beat_time_(beat_time) {}
  [[nodiscard]] bool ready(Time now) const { return free_ <= now || free_ - now < beat_time_; }
  /// Sends a beat; returns the time at which the beat begins to cross the link.
  Time send(Time now) {
    const Time begin = free_ > now ? free_ : now;
    free_ = begin + beat_time_;
    return begin;
  }

 private:
  Time beat_time_;
  Time free_ = 0;
};

/// Parameters of LinkedMemory, in femtoseconds; `beat_time` is for each beat in each direction.
struct LinkedMemoryOptions {
  Time read_latency = 0;   ///< time from the taken burst to the begin of its first beat
  Time write_latency = 0;  ///< time from the end of the last beat on the link to the response
  Time beat_time = 0;      ///< 0: as fast as the kernel takes beats
  std::size_t reads_in_flight = SIZE_MAX;
  std::size_t writes_in_flight = SIZE_MAX;
};

/// Functions that read and write bytes at an address; each returns whether all the bytes exist.
struct Contents {
  std::function<bool(std::uint64_t address, std::span<std::byte> to)> read;
  /// Writes byte n if bit n of `strobes` is set.
  std::function<bool(std::uint64_t address, std::span<const std::byte> from, std::uint64_t strobes)>
      write;
};

/// Memory behind a link with a latency, a rate in each direction, and a limit of bursts in flight.
class LinkedMemory : public MemoryPort {
 public:
  /// `bytes` have the addresses from `base` on; a burst outside of them gets decode_error.
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
    Time ready = 0;  ///< when a read's first beat or a write's response arrives
    std::uint32_t moved = 0;
    Response response = Response::okay;
  };

  Contents contents_;
  LinkedMemoryOptions options_;
  std::deque<Pending> reads_;
  std::deque<Pending> writes_;  ///< bursts that were taken and whose data are incomplete
  /// Bursts whose data are complete and whose response is on its way.
  std::deque<Pending> responses_;
  Time read_link_free_ = 0;
  BeatLink write_link_;
};

}  // namespace isthmus::card

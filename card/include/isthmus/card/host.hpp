// The host's end of the link: memory behind a cache, address translation, and flow credits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/event.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// A resource that serves requests one after the other.
struct Server {
  Time free = 0;
  std::array<Time, 2> until{};  ///< end of the last read, and end of the last write

  /// Uses the server for `duration` as soon as it is free; returns when that begins.
  Time claim(Time now, Time duration) {
    const Time start = now > free ? now : free;
    if (__builtin_add_overflow(start, duration, &free)) {
      throw TooLongError();
    }
    return start;
  }
};

/// Number of pages after which it repeats which pages are in the cache.
inline constexpr std::int64_t residence_pages = 4096;
/// The cache model's unit in bytes: such a page is in the cache as a whole or not at all.
inline constexpr std::int64_t residence_page_bytes = 4096;

/// Which pages of a stream are in the host's cache: an exact share of every `residence_pages`
/// pages, scattered by a one-to-one hash.
class Residence {
 public:
  Residence() = default;
  /// Computes the share for a cache and for memory of `footprint_bytes` that is used again and
  /// again.
  Residence(std::int64_t cache_bytes, std::int64_t footprint_bytes);

  [[nodiscard]] bool hit(std::int64_t page) const;
  /// Returns whether some pages, but not all, are in the cache.
  [[nodiscard]] bool partial() const { return pages_ > 0 && pages_ < residence_pages; }
  [[nodiscard]] std::int64_t pages() const { return pages_; }

 private:
  /// How many of each `residence_pages` pages are in the cache.
  std::int64_t pages_ = residence_pages;
};

/// An access to host memory.
struct Access {
  std::int64_t bytes = 0;
  bool hit = true;
  bool translated = true;  ///< the page's translation was in the IOMMU's cache
};

/// Host memory and its caches, as the root complex uses them.
class HostMemory {
 public:
  explicit HostMemory(const HostParameters& parameters);

  /// Takes a read request at `now`; returns when its first completion can leave.
  Time read(Time now, const Access& access);
  /// Takes a write at `now`; returns when its credits are released, in the order of arrival.
  Time write(Time now, const Access& access);
  /// Puts a page of a stream into the IOMMU's cache; returns whether it was there already.
  bool translate(std::int64_t stream, std::int64_t page);

  [[nodiscard]] const HostParameters& parameters() const { return parameters_; }

  void reset();
  /// Appends the state; `pages` has the page that each stream has reached.
  void save(State& state, Time now, const std::vector<std::int64_t>& pages) const;
  /// Moves each stream's translations by as many pages as a fast-forward moved the stream.
  void advance(const std::vector<std::int64_t>& moved);

 private:
  struct Translation {
    std::int64_t stream = -1;
    std::int64_t page = 0;
  };

  /// Returns how long an access waits for memory, which cache misses share, and for its
  /// translation.
  Time delay(Time now, const Access& access);

  HostParameters parameters_;
  Pace memory_byte_;
  Time latency_;
  Time miss_;
  Time retire_;
  Time translation_miss_;
  Server memory_;
  Server walker_;
  Time last_retired_ = 0;
  std::vector<Translation> translations_;  ///< the IOMMU's cache, direct-mapped
};

/// Credits of a receiver: the sender takes credits and gets them back in order.
class Credits {
 public:
  explicit Credits(std::int64_t amount) : all_(amount), left_(amount) {}

  static constexpr Time unknown = -1;

  /// Returns when `amount` credits are available, or `unknown` if that needs another `give_back`.
  Time when(Time now, std::int64_t amount);
  void take(std::int64_t amount) { left_ -= amount; }
  /// Returns credits, which are usable from `time` on. Later calls must not give an earlier `time`.
  void give_back(Time time, std::int64_t amount);

  void reset();
  void save(State& state, Time now) const;

 private:
  struct Return {
    Time time;
    std::int64_t amount;
  };

  std::int64_t all_;
  std::int64_t left_;
  std::vector<Return> returns_;  ///< valid from index `first_` on
  std::size_t first_ = 0;
};

}  // namespace isthmus::card

// The host's end of the link: memory behind a cache, address translation, and credits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/event.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// A resource that serves one request after the other.
struct Server {
  Time free = 0;
  std::array<Time, 2> until{};  ///< ends of the last read and of the last write

  /// Takes the server for `duration` as soon as it is free; returns the begin.
  Time claim(Time now, Time duration) {
    const Time start = now > free ? now : free;
    if (__builtin_add_overflow(start, duration, &free)) {
      throw TooLongError();
    }
    return start;
  }
};

/// Pages after which the pattern of pages in the cache repeats.
inline constexpr std::int64_t residence_pages = 4096;
/// Granularity of the cache model: the cache keeps all of such a page, or nothing.
inline constexpr std::int64_t residence_page_bytes = 4096;

/// The pages of a stream that lie in the cache: an exact share of every `residence_pages` pages,
/// which a one-to-one hash scatters.
class Residence {
 public:
  Residence() = default;
  /// For a cache of `cache_bytes`, and a footprint that is used again and again.
  Residence(std::int64_t cache_bytes, std::int64_t footprint_bytes);

  [[nodiscard]] bool hit(std::int64_t page) const;
  /// Whether a part of the footprint, but not all of it, is in the cache.
  [[nodiscard]] bool partial() const { return pages_ > 0 && pages_ < residence_pages; }
  [[nodiscard]] std::int64_t pages() const { return pages_; }

 private:
  std::int64_t pages_ = residence_pages;  ///< cached pages of each residence_pages
};

/// A request to memory.
struct Access {
  std::int64_t bytes = 0;
  bool hit = true;
  bool translated = true;  ///< whether its page was in the translation cache
};

/// Memory and its caches, seen from the root complex.
class HostMemory {
 public:
  explicit HostMemory(const HostParameters& parameters);

  /// A read request arrived at `now`; returns when its first completion can leave.
  Time read(Time now, const Access& access);
  /// A write arrived at `now`; returns when its credits are released, in order of arrival.
  Time write(Time now, const Access& access);
  /// Puts a stream's page into the translation cache; returns whether it was there.
  bool translate(std::int64_t stream, std::int64_t page);

  [[nodiscard]] const HostParameters& parameters() const { return parameters_; }

  void reset();
  /// Appends the state; `pages[stream]`: the present page of each stream.
  void save(State& state, Time now, const std::vector<std::int64_t>& pages) const;
  /// Moves each stream's translations by the number of pages that the stream has moved.
  void advance(const std::vector<std::int64_t>& moved);

 private:
  struct Translation {
    std::int64_t stream = -1;
    std::int64_t page = 0;
  };

  /// Returns the wait for the memory that misses share, and for translation.
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
  std::vector<Translation> translations_;  ///< direct-mapped
};

/// Credits of a receiver: the sender takes them, and gets them back in order.
class Credits {
 public:
  explicit Credits(std::int64_t amount) : all_(amount), left_(amount) {}

  static constexpr Time unknown = -1;

  /// Returns the time at which `amount` is available; unknown if it needs a later `give_back`.
  Time when(Time now, std::int64_t amount);
  void take(std::int64_t amount) { left_ -= amount; }
  /// Returns credits, usable from `time` on. `time` must not be before that of an earlier call.
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

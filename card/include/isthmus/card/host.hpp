// The host's end of the link: memory behind a cache, translation, and credits for what arrives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/event.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// Serves one after another.
struct Server {
  Time free = 0;
  std::array<Time, 2> until{};  ///< when the last read, the last write ends, where they differ

  /// Takes the server for `duration` as soon as it is free; returns when that begins.
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
/// What the cache keeps or does not keep as a whole.
inline constexpr std::int64_t residence_page_bytes = 4096;

/// Which pages of a stream lie in the cache: an exact share of every `residence_pages` pages,
/// scattered over them by a hash that is one-to-one.
class Residence {
 public:
  Residence() = default;
  /// Cache of `cache_bytes` under a footprint that is used again and again.
  Residence(std::int64_t cache_bytes, std::int64_t footprint_bytes);

  [[nodiscard]] bool hit(std::int64_t page) const;
  /// Neither all nor nothing is in the cache.
  [[nodiscard]] bool partial() const { return pages_ > 0 && pages_ < residence_pages; }
  [[nodiscard]] std::int64_t pages() const { return pages_; }

 private:
  std::int64_t pages_ = residence_pages;  ///< of residence_pages
};

/// A request as memory sees it.
struct Access {
  std::int64_t bytes = 0;
  bool hit = true;
  bool translated = true;  ///< its page was in the translation cache
};

/// Memory and its caches, seen from the root complex.
class HostMemory {
 public:
  explicit HostMemory(const HostParameters& parameters);

  /// A read request arrived at `now`; returns when its first completion can leave.
  Time read(Time now, const Access& access);
  /// A write arrived at `now`; returns when its credits are released, in order of arrival.
  Time write(Time now, const Access& access);
  /// Whether the page of a stream is in the translation cache, which it is afterwards.
  bool translate(std::int64_t stream, std::int64_t page);

  [[nodiscard]] const HostParameters& parameters() const { return parameters_; }

  void reset();
  /// `pages[stream]` is the page at which the stream is.
  void save(State& state, Time now, const std::vector<std::int64_t>& pages) const;
  /// Moves all that is known of a stream's pages on by as many pages as it moved itself.
  void advance(const std::vector<std::int64_t>& moved);

 private:
  struct Translation {
    std::int64_t stream = -1;
    std::int64_t page = 0;
  };

  /// Wait for the memory that misses share, and for translation.
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

/// Credits of a receiver: taken by the sender, given back in order.
class Credits {
 public:
  explicit Credits(std::int64_t amount) : all_(amount), left_(amount) {}

  static constexpr Time unknown = -1;

  /// When `amount` is there: now, a known time to come, or unknown until more is given back.
  Time when(Time now, std::int64_t amount);
  void take(std::int64_t amount) { left_ -= amount; }
  /// Usable again at `time`, which never is before that of an earlier call.
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
  std::vector<Return> returns_;  ///< from `first_` on
  std::size_t first_ = 0;
};

}  // namespace isthmus::card

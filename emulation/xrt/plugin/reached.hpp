// The bytes of a buffer that a kernel has accessed, noted at each access.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isthmus/card/pieces.hpp"

namespace isthmus::card::plugin {

/// Ranges of bytes. Most kernels go through a few places of a buffer in order, so that the latest
/// ranges grow without a search.
class Reached {
 public:
  void add(std::uint64_t from, std::uint64_t to) {
    for (Range& range : latest_) {
      if (from <= range.end && range.begin <= to) {
        range.begin = std::min(range.begin, from);
        range.end = std::max(range.end, to);
        return;
      }
    }
    store(latest_[next_]);
    latest_[next_] = {.begin = from, .end = to};
    next_ = (next_ + 1) % latest_.size();
  }
  /// Returns all ranges so far.
  [[nodiscard]] const Pieces& all() {
    for (Range& range : latest_) {
      store(range);
    }
    return pieces_;
  }
  /// Returns whether all bytes of `all()` were accessed.
  [[nodiscard]] bool is_exact() const { return is_exact_; }

 private:
  /// Ranges above which one range holds all bytes from the first to the last: a kernel that jumps
  /// about would need a range for each access. The number is assumed.
  static constexpr std::size_t most_ranges = 16384;

  struct Range {
    std::uint64_t begin = ~std::uint64_t{0};  ///< no access is next to an empty range
    std::uint64_t end = 0;
  };

  void store(Range& range) {
    if (range.begin < range.end) {
      pieces_.add(range.begin, range.end);
      if (pieces_.ends().size() > most_ranges) {
        pieces_.add(pieces_.ends().begin()->first, pieces_.ends().rbegin()->second);
        is_exact_ = false;
      }
    }
    range = {};
  }

  std::array<Range, 4> latest_{};
  std::size_t next_ = 0;
  Pieces pieces_;
  bool is_exact_ = true;
};

}  // namespace isthmus::card::plugin

// A set of bytes, stored as ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace isthmus::card {

/// A set of bytes, stored as ranges that do not touch.
class Pieces {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    auto next = ends_.upper_bound(begin);
    auto here = next;
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      --here;
      here->second = std::max(here->second, end);
    } else {
      here = ends_.emplace_hint(next, begin, end);
    }
    while (next != ends_.end() && next->first <= here->second) {
      here->second = std::max(here->second, next->second);
      next = ends_.erase(next);
    }
  }
  /// Adds those of the `bytes` from `from` on that are in `other`, as bytes from `to` on.
  void add(const Pieces& other, std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
    const std::uint64_t end = from + bytes;
    for (std::uint64_t at = from; at < end;) {
      const Stretch here = other.stretch(at, end);
      if (here.inside) {
        add(to + (at - from), to + (here.end - from));
      }
      at = here.end;
    }
  }
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& ends() const { return ends_; }

  struct Stretch {
    std::uint64_t end = 0;
    bool inside = false;
  };
  /// Returns whether byte `begin` is in the set, and up to which byte before `end` the answer is
  /// the same.
  [[nodiscard]] Stretch stretch(std::uint64_t begin, std::uint64_t end) const {
    const auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second > begin) {
      return {std::min(std::prev(next)->second, end), true};
    }
    return {next == ends_.end() ? end : std::min(next->first, end), false};
  }
  /// Whether a byte from `begin` to `end` is in the set.
  [[nodiscard]] bool meets(std::uint64_t begin, std::uint64_t end) const {
    const Stretch here = stretch(begin, end);
    return begin < end && (here.inside || here.end < end);
  }
  /// Returns how many bytes from `begin` to `end` are in the set.
  [[nodiscard]] std::uint64_t count(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t found = 0;
    while (begin < end) {
      const Stretch here = stretch(begin, end);
      found += here.inside ? here.end - begin : 0;
      begin = here.end;
    }
    return found;
  }
  /// Returns how many bytes are in both sets.
  [[nodiscard]] std::uint64_t count(const Pieces& other) const {
    std::uint64_t found = 0;
    for (const auto& [begin, end] : other.ends_) {
      found += count(begin, end);
    }
    return found;
  }
  /// Returns how many bytes are in the set.
  [[nodiscard]] std::uint64_t bytes() const { return count(*this); }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< end of each range, by its begin
};

}  // namespace isthmus::card

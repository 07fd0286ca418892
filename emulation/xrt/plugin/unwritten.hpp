// Finds bytes that a kernel in C++ reads from a buffer and that nothing has written before.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "isthmus/card/kernel_plugin.h"

namespace isthmus::card::plugin {

/// The bytes of one buffer that were not written before the run, by their offsets.
class Unwritten {
 public:
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

  /// Asks the card for them. If a buffer has more than `most_pieces` ranges, all counts as written.
  void find(const isthmus_kernel_run& run, std::uint64_t address, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes;) {
      int is_written = 1;
      const std::uint64_t alike = run.written(run.card, address + at, bytes - at, &is_written);
      if (is_written == 0) {
        pieces_.emplace_back(at, at + alike);
      }
      if (alike == 0 || pieces_.size() > most_pieces) {
        pieces_.clear();
        return;
      }
      at += alike;
    }
    bytes_ = bytes;
  }

  /// Notes that the run writes these bytes. Joins consecutive writes, because a kernel writes each
  /// element by a call of its own.
  void write(std::uint64_t at, std::uint64_t size) {
    if (at != latest_end_) {
      note_latest();
      latest_begin_ = at;
    }
    latest_end_ = at + size;
  }

  /// Returns the offset of the first element from `begin` to `end` without a written byte, or
  /// nothing. `is_changed(from, to)` returns whether the run has written there without a report.
  template <class IsChanged>
  [[nodiscard]] std::optional<std::uint64_t> first_of(std::uint64_t begin, std::uint64_t end,
                                                      std::uint64_t element,
                                                      const IsChanged& is_changed) {
    if (begin >= pieces_.back().second || end <= pieces_.front().first) {
      return std::nullopt;
    }
    note_latest();
    if (!has_fresh()) {
      return std::nullopt;
    }
    auto piece = std::ranges::upper_bound(pieces_, begin, {}, &Piece::second);
    for (; piece != pieces_.end() && piece->first < end; ++piece) {
      std::uint64_t at = std::max(begin, (piece->first + element - 1) / element * element);
      const std::uint64_t last = std::min(end, piece->second);
      for (; at < last; at += element) {
        const std::uint64_t to = std::min(at + element, bytes_);
        const bool whole = to <= piece->second;
        if (whole && std::count(fresh_ + at, fresh_ + to, 0) == static_cast<long>(to - at) &&
            !is_changed(at, to)) {
          return at;
        }
      }
    }
    return std::nullopt;
  }

  void forget() {
    if (fresh_ != nullptr) {
      munmap(std::exchange(fresh_, nullptr), bytes_);
    }
    pieces_.clear();
  }

 private:
  static constexpr std::size_t most_pieces = 4096;
  using Piece = std::pair<std::uint64_t, std::uint64_t>;  ///< begin and end

  /// Allocates `fresh_` when it is first needed: most kernels write one range and read nothing of
  /// the buffer.
  bool has_fresh() {
    if (fresh_ == nullptr) {
      void* const made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      fresh_ = made == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(made);
    }
    return fresh_ != nullptr;
  }

  void note_latest() {
    const std::uint64_t end = std::min(latest_end_, bytes_);
    if (latest_begin_ < end && has_fresh()) {
      std::fill(fresh_ + latest_begin_, fresh_ + end, std::uint8_t{1});
      std::erase_if(pieces_, [&](const Piece& piece) {
        return latest_begin_ <= piece.first && piece.second <= end;
      });
    }
    latest_begin_ = latest_end_;
  }

  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
  /// A byte for each byte of the buffer: 1 once the run has written it.
  std::uint8_t* fresh_ = nullptr;
  /// The range that the run wrote last, which is not yet in `fresh_`.
  std::uint64_t latest_begin_ = 0;
  std::uint64_t latest_end_ = 0;
};

}  // namespace isthmus::card::plugin

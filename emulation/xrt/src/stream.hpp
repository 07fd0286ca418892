// A stream between kernels: a ring buffer of words, with the times at which they were moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/card/process/dataflow.hpp"

namespace isthmus::card::process {

/// The words of a stream between two kernels.
class Dataflow::Stream {
 public:
  explicit Stream(const StreamPlace& place) : place_(&place) {}

  [[nodiscard]] const StreamPlace& place() const { return *place_; }
  [[nodiscard]] bool is_ready(bool for_reader) const {
    return for_reader ? count_ > 0 : count_ < place_->depth;
  }
  /// Returns the name of an end: "fetch_1.out" of the writer, "store_1.in" of the reader.
  [[nodiscard]] std::string end(bool of_reader) const {
    const std::size_t colon = place_->name.find(':');
    return of_reader ? place_->name.substr(colon + 1) : place_->name.substr(0, colon);
  }
  /// Returns when the next word was written, or for the writer when the next place became free.
  /// Empty for a place that was never used.
  [[nodiscard]] std::optional<std::uint64_t> since_when(bool for_reader) const {
    if (times_.empty()) {
      return std::nullopt;
    }
    const std::size_t place = for_reader ? head_ : (head_ + count_) % place_->depth;
    return used_[place] ? std::optional(times_[place]) : std::nullopt;
  }

  void put(const StreamWord& word, std::uint64_t now) {
    if (times_.empty()) {
      data_bytes_ = word.data.size();
      sideband_bytes_ = word.sideband.size();
      times_.resize(place_->depth);
      used_.resize(place_->depth);
      bytes_.resize(place_->depth * (data_bytes_ + sideband_bytes_));
    }
    if (word.data.size() != data_bytes_) {
      throw KernelError("stream " + place_->name + ": " + end(false) + " had words of " +
                        std::to_string(data_bytes_) + " bytes before, now of " +
                        std::to_string(word.data.size()));
    }
    const std::size_t place = (head_ + count_) % place_->depth;
    std::byte* const to = &bytes_[place * (data_bytes_ + sideband_bytes_)];
    std::ranges::copy(word.data, to);
    std::ranges::copy(word.sideband.first(std::min(word.sideband.size(), sideband_bytes_)),
                      to + data_bytes_);
    mark(place, now);
    ++count_;
  }

  /// Copies the next word to `word`, and removes it from the stream if `takes`.
  void get(const StreamWord& word, bool takes, std::uint64_t now) {
    if (word.data.size() != data_bytes_) {
      throw KernelError("stream " + place_->name + ": " + end(false) + " has words of " +
                        std::to_string(data_bytes_) + " bytes, " + end(true) + " of " +
                        std::to_string(word.data.size()));
    }
    const std::byte* const from = &bytes_[head_ * (data_bytes_ + sideband_bytes_)];
    std::copy_n(from, data_bytes_, word.data.begin());
    std::copy_n(from + data_bytes_, std::min(word.sideband.size(), sideband_bytes_),
                word.sideband.begin());
    if (takes) {
      last_written_ = times_[head_];
      last_read_ = now;
      mark(head_, now);
      head_ = (head_ + 1) % place_->depth;
      --count_;
    }
  }

  /// When the word that was read last was written, and when it was read.
  std::uint64_t last_written_ = 0;
  std::optional<std::uint64_t> last_read_;

 private:
  void mark(std::size_t place, std::uint64_t now) {
    times_[place] = now;
    used_[place] = true;
  }

  const StreamPlace* place_;
  std::size_t data_bytes_ = 0;
  std::size_t sideband_bytes_ = 0;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> times_;  ///< when each place was last written or read
  std::vector<bool> used_;
};

}  // namespace isthmus::card::process

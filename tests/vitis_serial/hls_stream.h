// Stands in for AMD's header of the name: a stream that holds `depth` values and no more, so that
// kernels wait where they would on a card.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

/// Lets other kernels go on; returns when it is this one's turn again.
void let_others_run();
/// Tells that a value went in or out of a stream.
void note_progress();

namespace hls {

template <typename T>
class stream {
 public:
  stream(std::size_t depth, std::function<void(T&)> on_the_way)
      : depth_(depth), on_the_way_(std::move(on_the_way)) {}

  T read() {
    while (held_.empty()) let_others_run();
    T value = held_.front();
    held_.pop_front();
    note_progress();
    return value;
  }
  void write(const T& sent) {
    while (held_.size() == depth_) let_others_run();
    T value = sent;
    on_the_way_(value);
    held_.push_back(value);
    note_progress();
  }
  bool empty() const { return held_.empty(); }

 private:
  std::size_t depth_;
  std::function<void(T&)> on_the_way_;
  std::deque<T> held_;
};

}  // namespace hls

// Stands in for AMD's header of the name, where that is not there: a stream within a kernel, which
// holds any number of values, as in AMD's simulation in C.
#pragma once

#include <cstddef>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

namespace hls {

template <class T, int depth = 0>
class stream {
 public:
  stream() = default;
  explicit stream(std::string name) : name_(std::move(name)) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] bool full() const { return false; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// Throws std::runtime_error where it is empty: on a card the kernel would wait for ever.
  T read() {
    if (values_.empty()) {
      throw std::runtime_error("stream '" + name_ + "' is read while it is empty");
    }
    T value = values_.front();
    values_.pop();
    return value;
  }
  void read(T& value) { value = read(); }
  bool read_nb(T& value) {
    const bool there = !empty();
    if (there) {
      value = read();
    }
    return there;
  }
  void write(const T& value) { values_.push(value); }
  bool write_nb(const T& value) {
    write(value);
    return true;
  }
  stream& operator>>(T& value) {
    read(value);
    return *this;
  }
  stream& operator<<(const T& value) {
    write(value);
    return *this;
  }

 private:
  std::string name_;
  std::queue<T> values_;
};

}  // namespace hls

// Stands in for AMD's header of the name, where that is not there. Within a kernel a stream holds
// any number of values, as in AMD's simulation in C; one that is the kernel's argument leads to
// another kernel.
#pragma once

#include <cstddef>
#include <cstring>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

namespace hls {

/// A value of T as a word of a stream between kernels: as many bytes as T has bits, or all of it.
/// What has more than data (ap_axi_sdata.h) says so by another one.
template <class T, class = void>
struct isthmus_word {
  static constexpr std::size_t data_bytes = sizeof(T);
  static constexpr std::size_t sideband_bytes = 0;
  static void pack(const T& value, void* data, void* /*sideband*/) {
    std::memcpy(data, static_cast<const void*>(&value), data_bytes);
  }
  static void unpack(T& value, const void* data, const void* /*sideband*/) {
    std::memcpy(static_cast<void*>(&value), data, data_bytes);
  }
};

/// The other kernel's end; kernel_call.cpp makes them.
class isthmus_outside {
 public:
  enum how { wait, try_now, look };
  virtual bool read(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;
  virtual bool write(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;

 protected:
  ~isthmus_outside() = default;
};

template <class T, int depth = 0>
class stream {
 public:
  using isthmus_value = T;

  stream() = default;
  explicit stream(std::string name) : name_(std::move(name)) {}
  explicit stream(isthmus_outside& outside) : outside_(&outside) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  [[nodiscard]] bool empty() const {
    T value{};
    return outside_ != nullptr ? !reads(value, isthmus_outside::look) : values_.empty();
  }
  [[nodiscard]] bool full() const {
    return outside_ != nullptr && !writes(T{}, isthmus_outside::look);
  }
  [[nodiscard]] std::size_t size() const {
    return outside_ != nullptr ? static_cast<std::size_t>(!empty()) : values_.size();
  }
  /// Throws std::runtime_error where it is empty: on a card the kernel would wait for ever.
  T read() {
    T value{};
    if (outside_ != nullptr) {
      reads(value, isthmus_outside::wait);
      return value;
    }
    if (values_.empty()) {
      throw std::runtime_error("stream '" + name_ + "' is read while it is empty");
    }
    value = values_.front();
    values_.pop();
    return value;
  }
  void read(T& value) { value = read(); }
  bool read_nb(T& value) {
    if (outside_ != nullptr) {
      return reads(value, isthmus_outside::try_now);
    }
    const bool there = !empty();
    if (there) {
      value = read();
    }
    return there;
  }
  void write(const T& value) {
    if (outside_ != nullptr) {
      writes(value, isthmus_outside::wait);
    } else {
      values_.push(value);
    }
  }
  bool write_nb(const T& value) {
    if (outside_ != nullptr) {
      return writes(value, isthmus_outside::try_now);
    }
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
  using word = isthmus_word<T>;

  bool reads(T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    word::pack(value, data, sideband);  // what the other side does not say stays
    const bool done = outside_->read(data, word::data_bytes, sideband, word::sideband_bytes, how);
    if (done && how != isthmus_outside::look) {
      word::unpack(value, data, sideband);
    }
    return done;
  }
  bool writes(const T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    word::pack(value, data, sideband);
    return outside_->write(data, word::data_bytes, sideband, word::sideband_bytes, how);
  }

  std::string name_;
  std::queue<T> values_;
  isthmus_outside* outside_ = nullptr;
};

}  // namespace hls

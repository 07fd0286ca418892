// Stands in for AMD's header of the name, where that is not there. Within a kernel a stream holds
// any number of values, as in AMD's simulation in C; one that is the kernel's argument leads to
// another kernel.
#pragma once

#include "isthmus_standard.h"

#include <cassert>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
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

/// Tasks (hls_task.h), which run beside the function that made them.
class isthmus_tasks {
 public:
  /// Asked by that function: lets tasks run until `ready` says so of `what`, or until none goes on;
  /// false where none ever will. Throws std::runtime_error where they go on for ever in vain. Asked
  /// by a task: others go on first, until that is so, or, where it does not `wait`, for a while.
  /// `outside` says that another kernel is waited for.
  virtual bool run_until(bool (*ready)(const void*), const void* what, bool outside, bool wait) = 0;

 protected:
  ~isthmus_tasks() = default;
};
inline isthmus_tasks* isthmus_beside = nullptr;  ///< where there are any
inline unsigned long long isthmus_moved = 0;     ///< words, by all streams
inline unsigned long long isthmus_crossed = 0;   ///< of these, between kernels

template <class T, int depth = 0>
class stream;

template <class T>
class stream<T, 0> {
 public:
  using isthmus_value = T;

  stream() = default;
  stream(std::string name) : name_(std::move(name)) {}
  stream(const char* name) : name_(name) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  void isthmus_lead_to(isthmus_outside& outside) { outside_ = &outside; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// As it is, without a turn of others.
  [[nodiscard]] bool isthmus_has_one() const {
    T value{};
    return outside_ != nullptr ? reads(value, isthmus_outside::look) : !values_.empty();
  }

  [[nodiscard]] bool empty() const {
    const bool there = isthmus_has_one();
    return !there && !(others_go_on(&has_one_now, false) && isthmus_has_one());
  }
  [[nodiscard]] bool full() const {
    return outside_ != nullptr && !writes(T{}, isthmus_outside::look) &&
           !(others_go_on(&has_room_now, false) && writes(T{}, isthmus_outside::look));
  }
  [[nodiscard]] std::size_t size() const {
    return outside_ != nullptr || empty() ? static_cast<std::size_t>(!empty()) : values_.size();
  }
  /// Throws std::runtime_error where it is empty: on a card the kernel would wait for ever.
  T read() {
    T value{};
    read(value);
    return value;
  }
  void read(T& value) {
    if (outside_ != nullptr) {
      while (!reads(value,
                    isthmus_beside == nullptr ? isthmus_outside::wait : isthmus_outside::try_now)) {
        if (!others_go_on(&has_one_now, true)) {
          reads(value, isthmus_outside::wait);
          return;
        }
      }
      return;
    }
    while (values_.empty()) {
      if (!others_go_on(&has_one_now, true)) {
        throw std::runtime_error("stream '" + name_ + "' is read while it is empty");
      }
    }
    take(value);
  }
  bool read_nb(T& value) {
    if (outside_ != nullptr) {
      return reads(value, isthmus_outside::try_now) ||
             (others_go_on(&has_one_now, false) && reads(value, isthmus_outside::try_now));
    }
    const bool there = !empty();
    if (there) {
      take(value);
    }
    return there;
  }
  void write(const T& value) {
    if (outside_ == nullptr) {
      constexpr std::size_t many = 65536;  // a task that never waits lets others go on
      if (isthmus_beside != nullptr && values_.size() >= many) {
        others_go_on(&has_room_now, false);
      }
      ++isthmus_moved;
      values_.push(value);
      return;
    }
    while (!writes(value,
                   isthmus_beside == nullptr ? isthmus_outside::wait : isthmus_outside::try_now)) {
      if (!others_go_on(&has_room_now, true)) {
        writes(value, isthmus_outside::wait);
        return;
      }
    }
  }
  bool write_nb(const T& value) {
    if (outside_ != nullptr) {
      return writes(value, isthmus_outside::try_now) ||
             (others_go_on(&has_room_now, false) && writes(value, isthmus_outside::try_now));
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

  static bool has_one_now(const void* which) {
    return static_cast<const stream*>(which)->isthmus_has_one();
  }
  static bool has_room_now(const void* which) {
    const auto& one = *static_cast<const stream*>(which);
    return one.outside_ == nullptr || one.writes(T{}, isthmus_outside::look);
  }
  bool others_go_on(bool (*ready)(const void*), bool wait) const {
    return isthmus_beside != nullptr &&
           isthmus_beside->run_until(ready, this, outside_ != nullptr, wait);
  }
  void take(T& value) {
    ++isthmus_moved;
    value = values_.front();
    values_.pop();
  }

  bool reads(T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    if constexpr (word::sideband_bytes > 0) {
      word::pack(value, data, sideband);  // what the other side does not say stays
    }
    const bool done =
        moved(outside_->read(data, word::data_bytes, sideband, word::sideband_bytes, how), how);
    if (done && how != isthmus_outside::look) {
      word::unpack(value, data, sideband);
    }
    return done;
  }
  bool writes(const T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    word::pack(value, data, sideband);
    return moved(outside_->write(data, word::data_bytes, sideband, word::sideband_bytes, how), how);
  }
  static bool moved(bool done, isthmus_outside::how how) {
    const int words = done && how != isthmus_outside::look ? 1 : 0;
    isthmus_moved += words;
    isthmus_crossed += words;
    return done;
  }

  std::string name_;
  std::queue<T> values_;
  isthmus_outside* outside_ = nullptr;
};

/// Its depth changes nothing here.
template <class T, int depth>
class stream : public stream<T, 0> {
 public:
  using stream<T, 0>::stream;
};

}  // namespace hls

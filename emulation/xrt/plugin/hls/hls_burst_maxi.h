// Replaces AMD's header of this name, if that is absent: a memory port on which a kernel sends a
// request before it reads or writes.
#pragma once

#include "isthmus_standard.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

namespace hls {

/// A port to memory, whose copies share their requests. Each function throws std::runtime_error if
/// a kernel on a card would wait for ever: without a request, or if data of it were not written.
template <class T>
class burst_maxi {
 public:
  using isthmus_element = T;

  burst_maxi(T* memory) : memory_(memory) {}

  /// Requests to read `count` elements from element `at` on, after all earlier requests.
  void read_request(std::size_t at, std::size_t count) {
    asked_->reads.add(at * sizeof(T), count * sizeof(T));
  }
  void write_request(std::size_t at, std::size_t count) {
    asked_->writes.add(at * sizeof(T), count * sizeof(T));
    asked_->answers.push_back(asked_->writes.all);
  }
  /// Requests `count` values of another type, from a byte address on.
  template <class Value>
  void read_request_unaligned(std::size_t byte, std::size_t count) {
    asked_->reads.add(byte, count * sizeof(Value));
  }
  template <class Value>
  void write_request_unaligned(std::size_t byte, std::size_t count) {
    asked_->writes.add(byte, count * sizeof(Value));
    asked_->answers.push_back(asked_->writes.all);
  }
  template <class Value = T>
  Value read() {
    return *next<Value>(asked_->reads, "read() without a read_request()");
  }
  template <class Value = T>
  void write(const Value& value) {
    *next<Value>(asked_->writes, "write() without a write_request()") = value;
  }
  /// Writes those bytes of a value whose bits in `enabled` are 1.
  template <class Enabled>
  void write(const T& value, const Enabled& enabled) {
    T* const to = next<T>(asked_->writes, "write() without a write_request()");
    for (std::size_t n = 0; n < sizeof(T); ++n) {
      if (enabled[static_cast<int>(n)]) {
        reinterpret_cast<unsigned char*>(to)[n] = reinterpret_cast<const unsigned char*>(&value)[n];
      }
    }
  }
  /// Waits until all data of the oldest write request have been written.
  void write_response() {
    if (asked_->answers.empty() || asked_->writes.done < asked_->answers.front()) {
      throw std::runtime_error("burst_maxi: write_response() before all of a write_request()");
    }
    asked_->answers.pop_front();
  }

 private:
  struct Requests {
    struct Part {
      std::size_t byte, left;
    };
    std::deque<Part> parts;
    std::uint64_t all = 0;  ///< bytes of all requests so far
    std::uint64_t done = 0;

    void add(std::size_t byte, std::size_t bytes) {
      if (bytes > 0) {
        parts.push_back({byte, bytes});
        all += bytes;
      }
    }
  };
  struct Asked {
    Requests reads, writes;
    /// For each response to come: bytes that must be written before.
    std::deque<std::uint64_t> answers;
  };

  template <class Value>
  Value* next(Requests& requests, const char* missing) {
    if (requests.parts.empty() || requests.parts.front().left < sizeof(Value)) {
      throw std::runtime_error(std::string("burst_maxi: ") + missing);
    }
    typename Requests::Part& part = requests.parts.front();
    auto* const found =
        reinterpret_cast<Value*>(reinterpret_cast<unsigned char*>(memory_) + part.byte);
    part.byte += sizeof(Value);
    part.left -= sizeof(Value);
    requests.done += sizeof(Value);
    if (part.left == 0) {
      requests.parts.pop_front();
    }
    return found;
  }

  T* memory_;
  std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
};

}  // namespace hls

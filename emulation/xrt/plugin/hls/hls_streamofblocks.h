// Replaces AMD's header of this name, if that is absent: blocks that one
// function fills and another function reads, in order.
#pragma once

#include "isthmus_standard.h"

#include <hls_stream.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

namespace hls {

template <class Block>
class read_lock;
template <class Block>
class write_lock;

/// A stream of blocks without a limit of their number; `Block` is an array type.
template <class Block, int depth = 2>
class stream_of_blocks;

template <class Block>
class stream_of_blocks<Block, 2> {
 public:
  stream_of_blocks() = default;
  explicit stream_of_blocks(std::string name) : name_(std::move(name)) {}
  stream_of_blocks(const stream_of_blocks&) = delete;
  stream_of_blocks& operator=(const stream_of_blocks&) = delete;

  [[nodiscard]] bool empty() const { return full_ == 0; }
  [[nodiscard]] bool full() const { return false; }

 private:
  friend class read_lock<Block>;
  friend class write_lock<Block>;

  struct Held {
    Block values;
  };
  static bool has_one(const void* which) {
    return !static_cast<const stream_of_blocks*>(which)->empty();
  }

  static bool has_few(const void* which) {
    return static_cast<const stream_of_blocks*>(which)->full_ < many;
  }
  /// Adds an empty block and returns it; if there are many blocks, lets other tasks run.
  Held& add() {
    if (isthmus_beside != nullptr && !has_few(this)) {
      isthmus_beside->run_until({&has_few, this}, false);
    }
    return blocks_.emplace_back();
  }

  static constexpr std::size_t many = 64;
  std::string name_;
  std::deque<Held> blocks_;  // elements of a deque keep their addresses
  std::size_t full_ = 0;
};

template <class Block, int depth>
class stream_of_blocks : public stream_of_blocks<Block, 2> {
 public:
  using stream_of_blocks<Block, 2>::stream_of_blocks;
};

/// Gives access to the oldest block; the destructor removes that block.
template <class Block>
class read_lock {
 public:
  /// Throws std::runtime_error if there is no block: on a card the kernel would wait for ever.
  explicit read_lock(stream_of_blocks<Block>& of) : of_(of) {
    while (of.empty()) {
      if (isthmus_beside == nullptr || !isthmus_beside->run_until({&of.has_one, &of}, true)) {
        throw std::runtime_error("stream of blocks '" + of.name_ + "' is read while it is empty");
      }
    }
  }
  read_lock(const read_lock&) = delete;
  read_lock& operator=(const read_lock&) = delete;
  ~read_lock() {
    of_.blocks_.pop_front();
    --of_.full_;
    ++isthmus_moved;
  }
  operator Block&() { return of_.blocks_.front().values; }
  auto& operator[](std::size_t at) { return of_.blocks_.front().values[at]; }

 private:
  stream_of_blocks<Block>& of_;
};

/// Gives access to a new block with any values; after the destructor the block can be read.
template <class Block>
class write_lock {
 public:
  explicit write_lock(stream_of_blocks<Block>& of) : of_(of), held_(of.add()) {}
  write_lock(const write_lock&) = delete;
  write_lock& operator=(const write_lock&) = delete;
  ~write_lock() {
    ++of_.full_;
    ++isthmus_moved;
  }
  operator Block&() { return held_.values; }
  auto& operator[](std::size_t at) { return held_.values[at]; }

 private:
  stream_of_blocks<Block>& of_;
  typename stream_of_blocks<Block>::Held& held_;
};

}  // namespace hls

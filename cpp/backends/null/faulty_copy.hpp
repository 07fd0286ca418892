// Copies memory with a chosen fault, to test that the verification finds it.
#pragma once

#include <cstdint>
#include <cstring>

#include "isthmus/buffer.hpp"

namespace isthmus {

enum class Move : std::uint8_t { none, correct, drop, duplicate, reorder, nothing, early };

/// Copies memory like a transfer that goes wrong and reports no error.
class FaultyCopy {
 public:
  /// Every `every`-th copy has the fault.
  FaultyCopy(Move move, std::uint64_t every, HostBuffer& source, HostBuffer& destination)
      : move_(move), every_(every), source_(&source), destination_(&destination) {}

  void operator()() {
    const std::size_t bytes = source_->bytes();
    std::byte* to = destination_->data();
    const std::byte* from = source_->data();
    const bool faulty = ++count_ % every_ == 0;
    if (late_) {
      std::memcpy(to, from, bytes);
      late_ = false;
    }
    if (!faulty || move_ == Move::correct) {
      std::memcpy(to, from, bytes);
      return;
    }
    const std::size_t half = bytes / 2;
    switch (move_) {
      case Move::drop:  // one byte in the middle never arrives
        std::memcpy(to, from, half);
        std::memcpy(to + half + 1, from + half + 1, bytes - half - 1);
        break;
      case Move::duplicate:  // the first half arrives twice
        std::memcpy(to, from, half);
        std::memcpy(to + half, from, bytes - half);
        break;
      case Move::reorder:  // the halves are exchanged
        std::memcpy(to, from + bytes - half, half);
        std::memcpy(to + half, from, bytes - half);
        break;
      case Move::early:  // returns before the copy is made
        late_ = true;
        break;
      default:  // nothing moves
        break;
    }
  }

 private:
  Move move_;
  std::uint64_t every_;
  HostBuffer* source_;
  HostBuffer* destination_;
  std::uint64_t count_ = 0;
  bool late_ = false;
};

}  // namespace isthmus

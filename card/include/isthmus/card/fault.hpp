// Finds the bytes that the faults on purpose hit (FaultParameters).
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/card/board.hpp"

namespace isthmus::card {

/// A range of bytes in a buffer.
struct Piece {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] bool empty() const { return bytes == 0; }
};

/// Return the bytes of the read completion, or of the written packet, that the board's fault hits;
/// empty if the access has fewer packets. The access begins `page_offset` bytes into a page.
Piece flipped_completion(const Board& board, std::int64_t page_offset, std::int64_t bytes);
Piece dropped_write(const Board& board, std::int64_t page_offset, std::int64_t bytes);

}  // namespace isthmus::card

// Faults that a card is told to make, and where in a buffer they show.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/card/board.hpp"

namespace isthmus::card {

/// Bytes of a buffer.
struct Piece {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] bool empty() const { return bytes == 0; }
};

/// The completion of a read, or the written packet, that the board's faults hit: nothing where
/// there are fewer. The access begins `page_offset` into a page.
Piece flipped_completion(const Board& board, std::int64_t page_offset, std::int64_t bytes);
Piece dropped_write(const Board& board, std::int64_t page_offset, std::int64_t bytes);

}  // namespace isthmus::card

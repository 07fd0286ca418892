#include "isthmus/card/fault.hpp"

#include <algorithm>

#include "isthmus/card/link.hpp"

namespace isthmus::card {

Piece flipped_completion(const Board& board, std::int64_t page_offset, std::int64_t bytes) {
  const std::int64_t request = board.link.max_read_request_bytes;
  std::int64_t left = board.faults.flip_completion;
  Piece found;
  for (std::int64_t at = 0; at < bytes && left > 0;) {
    const std::int64_t address = page_offset + at;
    const std::int64_t requested = std::min(bytes - at, request - address % request);
    split_completions(board.link, static_cast<std::uint64_t>(address), requested,
                      [&](std::int64_t part) {
                        if (--left == 0) {
                          found = {.offset = at, .bytes = part};
                        }
                        at += part;
                      });
  }
  return found;
}

Piece dropped_write(const Board& board, std::int64_t page_offset, std::int64_t bytes) {
  const std::int64_t most = board.link.max_payload_bytes;
  const std::int64_t before_first = page_offset % most;
  const std::int64_t begin =
      std::max<std::int64_t>(0, (board.faults.drop_write - 1) * most - before_first);
  const std::int64_t end = std::min(bytes, board.faults.drop_write * most - before_first);
  return board.faults.drop_write > 0 && begin < end ? Piece{begin, end - begin} : Piece{};
}

}  // namespace isthmus::card

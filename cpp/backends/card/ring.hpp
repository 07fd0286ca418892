// Exchanges between cards of the same board whose serial channels form a ring.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/board.hpp"

namespace isthmus::card {

/// Describes the exchanges of a board; empty if the board has no serial channels.
std::vector<OperationInfo> ring_operations(const Board& board);
bool is_ring(const std::string& operation);
std::unique_ptr<Operation> make_ring(const Board& board, const OperationSpec& spec,
                                     bool fast_forward);

}  // namespace isthmus::card

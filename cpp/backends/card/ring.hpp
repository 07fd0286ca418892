// A ring of cards of the same board.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/board.hpp"

namespace isthmus::card {

/// Operations of a board with serial channels in a ring of such boards.
std::vector<OperationInfo> ring_operations(const Board& board);
bool is_ring(const std::string& operation);
std::unique_ptr<Operation> make_ring(const Board& board, const OperationSpec& spec,
                                     bool fast_forward);

}  // namespace isthmus::card

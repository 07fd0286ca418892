// Cards of the same board in a ring, as a study asks for them.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/board.hpp"

namespace isthmus::card {

/// What a board with serial channels can do with others of its kind.
std::vector<OperationInfo> ring_operations(const Board& board);
bool is_ring(const std::string& operation);
std::unique_ptr<Operation> make_ring(const Board& board, const OperationSpec& spec,
                                     bool fast_forward);

}  // namespace isthmus::card

// Operations of the card backend.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Kinds of host memory of the card backend, the first by default. Pinned memory begins at a page.
std::vector<std::string> memory_kinds();

/// The operations that the board's parts support.
std::vector<OperationInfo> operations(const Board& board);

/// Throws UsageError for an operation that the card lacks.
std::unique_ptr<Operation> make_operation(Card& card, const OperationSpec& spec);

}  // namespace isthmus::card

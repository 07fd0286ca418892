// What the card backend can be asked to do.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Host memory that the card backend takes, the first by default. Pinned memory begins at a page.
std::vector<std::string> memory_kinds();

/// The operations for which a board has the parts.
std::vector<OperationInfo> operations(const Board& board);

/// Throws UsageError for an operation that the card has not.
std::unique_ptr<Operation> make_operation(Card& card, const OperationSpec& spec);

}  // namespace isthmus::card

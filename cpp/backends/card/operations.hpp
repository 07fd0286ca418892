// Operations of the card backend.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Returns the kinds of host memory; the first is the default. Buffers of
/// kind `pinned` begin at a page boundary.
std::vector<std::string> memory_kinds();

/// Returns the operations that the parts in the board's file allow.
std::vector<OperationInfo> operations(const Board& board);

/// Creates an operation; throws UsageError if the card lacks it.
std::unique_ptr<Operation> make_operation(Card& card, const OperationSpec& spec);

}  // namespace isthmus::card

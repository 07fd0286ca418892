// The vector addition on the emulated card: the card's time by events, its host's software by the
// board.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/card/card.hpp"
#include "isthmus/offload.hpp"

namespace isthmus::card {

std::vector<OperationInfo> offloads(const OffloadParameters& costs);
/// Throws UsageError if the board does not describe its host's software.
std::unique_ptr<Offload> make_offload(const Board& board, const OperationSpec& spec);

}  // namespace isthmus::card

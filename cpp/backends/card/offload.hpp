// The vector addition on the emulated card. Events give the card's time, the board's file that of
// the host's software.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/card/card.hpp"
#include "isthmus/offload.hpp"

namespace isthmus::card {

std::vector<OperationInfo> offloads(const OffloadParameters& costs);
/// Creates the offload; throws UsageError if the board's file does not describe the host's
/// software.
std::unique_ptr<Offload> make_offload(const Board& board, const OperationSpec& spec);

}  // namespace isthmus::card

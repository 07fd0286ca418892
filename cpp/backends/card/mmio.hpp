// Loads and stores of the processor to the emulated card.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Operations on registers, and on the SRAM behind them if there is any; with `dma`, also
/// `dma_read`, which the card's DMA executes instead.
std::vector<OperationInfo> mmio_operations(std::int64_t sram_bytes, bool dma);
bool is_mmio(const std::string& operation);
/// With `speculation`, prefetched lines serve loads of a write-combined mapping.
std::unique_ptr<Operation> make_mmio(Card& card, const OperationSpec& spec, bool speculation);

}  // namespace isthmus::card

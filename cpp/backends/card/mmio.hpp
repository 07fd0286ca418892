// Loads and stores of the processor to the emulated card.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// What the processor can do with registers, and with the SRAM behind them where there is any;
/// `dma_read`, what the card's DMA does instead, where it has that.
std::vector<OperationInfo> mmio_operations(std::int64_t sram_bytes, bool dma);
bool is_mmio(const std::string& operation);
/// With `speculation` loads of a write-combined mapping are served by lines fetched ahead.
std::unique_ptr<Operation> make_mmio(Card& card, const OperationSpec& spec, bool speculation);

}  // namespace isthmus::card

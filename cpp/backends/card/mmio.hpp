// The processor's loads and stores to the emulated card, as operations.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Describes accesses to registers, and to the SRAM behind them if `sram_bytes` > 0. With `dma`
/// also `dma_read`: the card's DMA fetches the same data.
std::vector<OperationInfo> mmio_operations(std::int64_t sram_bytes, bool dma);
bool is_mmio(const std::string& operation);
/// Creates one of these operations; with `speculation`, prefetched lines serve later loads of a
/// write-combined mapping.
std::unique_ptr<Operation> make_mmio(Card& card, const OperationSpec& spec, bool speculation);

}  // namespace isthmus::card

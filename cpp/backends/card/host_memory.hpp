// Kernels of an emulated card that read, write or copy host memory or its own, sweep after sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// Whether memory holds what the card's kernels write: 64-bit words that count on from `first`.
[[nodiscard]] bool has_count(std::span<const std::byte> data, std::uint64_t first);
/// Contents that differ from that in every bit.
void fill_unlike_count(std::span<std::byte> to, std::uint64_t first);

/// Those for which the board has the parts; RTL where it was built in and fits the board.
std::vector<OperationInfo> host_memory_kernels(const Board& board);
/// Whether the kernels are there in RTL, too, or why not.
std::string rtl_kernels_here();

/// Runs on a card of its own, like `like` but for what the axes say. Throws BoardError for what
/// that card cannot be.
std::unique_ptr<Operation> make_host_memory_kernel(const Card& like, const OperationSpec& spec);

}  // namespace isthmus::card

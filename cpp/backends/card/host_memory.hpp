// Kernels of an emulated card that read, write or copy host or card memory, sweep after sweep.
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

/// Whether memory holds the words that the card's kernels write: 64-bit, counting up from `first`.
[[nodiscard]] bool has_count(std::span<const std::byte> data, std::uint64_t first);
/// Writes contents that differ from those words in every bit.
void fill_unlike_count(std::span<std::byte> to, std::uint64_t first);

/// The kernels that the board's parts support; RTL if it was built in and fits the board.
std::vector<OperationInfo> host_memory_kernels(const Board& board);
/// Whether the kernels also exist in RTL, or why not.
std::string rtl_kernels_here();

/// Creates an operation on a separate card, like `like` with the changes of the axes. Throws
/// BoardError for an impossible card.
std::unique_ptr<Operation> make_host_memory_kernel(const Card& like, const OperationSpec& spec);

}  // namespace isthmus::card

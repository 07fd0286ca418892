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

/// Returns whether memory holds what the card's kernels write: 64-bit words that count up from
/// `first`.
[[nodiscard]] bool has_count(std::span<const std::byte> data, std::uint64_t first);
/// Fills memory with contents that differ in every bit from the words that count up from `first`.
void fill_unlike_count(std::span<std::byte> to, std::uint64_t first);

/// Returns the kernels that the board's parts support, in RTL too if RTL is built in and fits the
/// board.
std::vector<OperationInfo> host_memory_kernels(const Board& board);
/// Returns whether the kernels exist in RTL too, or the reason why not.
std::string rtl_kernels_here();

/// Creates an operation on a card of its own: `like`, changed as the axes say. Throws BoardError if
/// no card can have these values.
std::unique_ptr<Operation> make_host_memory_kernel(const Card& like, const OperationSpec& spec);

}  // namespace isthmus::card

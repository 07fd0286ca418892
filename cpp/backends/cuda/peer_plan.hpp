// Chooses by a message's size how a GPU sends it to another GPU.
#pragma once

#include <cstdint>

namespace isthmus::cuda {

/// Bytes up to which a message is sent as words that contain a tag. Half of the bytes are then
/// tags, but no step needs a fence, which takes 2 us between two H200.
inline constexpr std::uint64_t most_word_bytes = std::uint64_t{256} << 10U;
/// Bytes from which copy engines send: between two H200 they reach 390 GB/s, kernels' stores 364.
/// Streams that wait for ranks lose time: 13 us a step with two ranks, with four up to the time of
/// 128 MiB.
inline constexpr std::uint64_t least_copied_bytes = std::uint64_t{256} << 20U;

/// Bytes for a rank's signals in one lane: two places that are used in turn, with 8-byte words that
/// each carry 4 bytes of a message.
inline constexpr std::uint64_t signal_area_bytes = 2 * most_word_bytes * 2;
/// Distance in bytes between the signals of two blocks, as in kernels/cuda/exchange.cu.
inline constexpr std::uint64_t signal_bytes = 128;

struct PeerPlan {
  enum class Way : std::uint8_t { words, parts, copies };
  Way way = Way::words;
  unsigned lane_blocks = 0;  ///< thread blocks of a lane, which must all run at once
  unsigned threads = 0;      ///< threads of each block
  std::uint64_t part_bytes = 0;
};

/// Chooses the way. `blocks` is how many thread blocks can run at once, at least two; `copies` says
/// whether copy engines can wait for other ranks.
PeerPlan plan_messages(std::uint64_t bytes, unsigned blocks, bool copies);

}  // namespace isthmus::cuda

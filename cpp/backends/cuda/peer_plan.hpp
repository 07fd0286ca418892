// Ways of messages between GPUs, by size.
#pragma once

#include <cstdint>

namespace isthmus::cuda {

/// Bytes up to which messages are sent as words with tags: half of the sent bytes, but without a
/// fence in each step, which costs 2 us between two H200.
inline constexpr std::uint64_t most_word_bytes = std::uint64_t{256} << 10U;
/// Bytes from which the copy engines send: they are faster than processors' stores (390 to 364 GB/s
/// between two H200), but streams that wait for ranks are late: 13 us in a step of two ranks, and
/// with four ranks up to the time of 128 MiB.
inline constexpr std::uint64_t least_copied_bytes = std::uint64_t{256} << 20U;

/// Bytes of a rank's signals in one lane: two alternating places for words of 8 bytes that carry 4
/// each.
inline constexpr std::uint64_t signal_area_bytes = 2 * most_word_bytes * 2;
/// Distance in bytes between the signals of two blocks, as in kernels/cuda/exchange.cu.
inline constexpr std::uint64_t signal_bytes = 128;

struct PeerPlan {
  enum class Way : std::uint8_t { words, parts, copies };
  Way way = Way::words;
  unsigned lane_blocks = 0;  ///< thread blocks, which must all run at the same time
  unsigned threads = 0;      ///< threads of each block
  std::uint64_t part_bytes = 0;
};

/// `blocks`: how many can run at the same time, at least two; `copies`: whether copy engines can
/// wait for other ranks.
PeerPlan plan_messages(std::uint64_t bytes, unsigned blocks, bool copies);

}  // namespace isthmus::cuda

// How messages between GPUs go, by their size.
#pragma once

#include <cstdint>

namespace isthmus::cuda {

/// Messages up to this size go as words that carry their own tags: half of what is sent, but no
/// fence in a step, which costs 2 us between two H200.
inline constexpr std::uint64_t most_word_bytes = std::uint64_t{256} << 10U;
/// From this size on the copy engines send: they carry more than processors' stores (390 to 364
/// GB/s between two H200), but streams that wait for ranks are late: 13 us in a step of two ranks,
/// and of four up to as long as 128 MiB take.
inline constexpr std::uint64_t least_copied_bytes = std::uint64_t{256} << 20U;

/// What a rank is told with in one lane: two places in turn for words of 8 bytes that carry 4 each.
inline constexpr std::uint64_t signal_area_bytes = 2 * most_word_bytes * 2;
/// From one block's signal to the next, as in kernels/cuda/exchange.cu.
inline constexpr std::uint64_t signal_bytes = 128;

struct PeerPlan {
  enum class Way : std::uint8_t { words, parts, copies };
  Way way = Way::words;
  unsigned lane_blocks = 0;  ///< of threads, which all have to run at once
  unsigned threads = 0;      ///< of each
  std::uint64_t part_bytes = 0;
};

/// `blocks`: that can run at once, at least two; `copies`: whether copy engines can wait for other
/// ranks.
PeerPlan plan_messages(std::uint64_t bytes, unsigned blocks, bool copies);

}  // namespace isthmus::cuda

#include "peer_plan.hpp"

#include <algorithm>

namespace isthmus::cuda {
namespace {

constexpr std::uint64_t warp_threads = 32;
constexpr std::uint64_t most_word_threads = 256;
constexpr std::uint64_t most_part_threads = 512;
constexpr std::uint64_t access_bytes = 16;
constexpr std::uint64_t accesses_in_flight = 4;  ///< of each thread, as in kernels/cuda/device.cuh
/// Bytes of two warps' accesses: a block's part of a message is a multiple of this, except the
/// last.
constexpr std::uint64_t part_unit = 4096;

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

unsigned threads_for(std::uint64_t accesses, std::uint64_t most) {
  return static_cast<unsigned>(std::min(divided_up(accesses, warp_threads) * warp_threads, most));
}

}  // namespace

PeerPlan plan_messages(std::uint64_t bytes, unsigned blocks, bool copies) {
  if (copies && bytes >= least_copied_bytes) {
    return {.way = PeerPlan::Way::copies};
  }
  const std::uint64_t most_blocks = std::max(blocks / 2, 1U);
  PeerPlan plan;
  if (bytes <= most_word_bytes) {
    const std::uint64_t words = divided_up(bytes, sizeof(std::uint32_t));
    plan.threads = threads_for(words, most_word_threads);
    plan.lane_blocks =
        static_cast<unsigned>(std::min(divided_up(words, plan.threads), most_blocks));
  } else {
    plan.way = PeerPlan::Way::parts;
    plan.part_bytes = divided_up(divided_up(bytes, most_blocks), part_unit) * part_unit;
    plan.threads =
        threads_for(plan.part_bytes / (access_bytes * accesses_in_flight), most_part_threads);
    plan.lane_blocks = static_cast<unsigned>(divided_up(bytes, plan.part_bytes));
  }
  return plan;
}

}  // namespace isthmus::cuda

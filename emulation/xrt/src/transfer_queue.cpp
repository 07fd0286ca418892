#include "isthmus/card/process/transfer_queue.hpp"

#include <algorithm>

namespace isthmus::card::process {
namespace {

/// Returns the time from `now` to `then`, 0 if `then` is past, although times wrap.
Time until(std::uint64_t now, std::uint64_t then) {
  return std::max<Time>(static_cast<Time>(then - now), 0);
}

}  // namespace

TransferQueue::TransferQueue(Timing& timing) : timing_(&timing) {
  const auto& dma = timing.board().dma;
  for (Way& way : ways_) {
    way.channels.resize(dma ? static_cast<std::size_t>(dma->engines) : 0);
  }
}

Cost TransferQueue::add(std::uint64_t now, Direction direction, std::int64_t bytes,
                        std::size_t bank, const Cost& alone) {
  if (bytes == 0) {
    return alone;
  }
  if (!any_) {
    any_ = true;
    for (Way& way : ways_) {
      std::ranges::fill(way.channels, now);
      way.link = now;
    }
  }
  Way& way = ways_.at(static_cast<std::size_t>(direction));
  const Way& other = ways_.at(1 - static_cast<std::size_t>(direction));
  if (way.latency < 0) {
    way.latency = timing_->transfer(direction, 1, 0, 0).simulated;
  }
  const Time latency = std::min(way.latency, alone.simulated);
  const Time submit =
      std::min(alone.driver, from_nanoseconds(timing_->board().dma.value().submit_ns));
  const Time data = alone.simulated - latency;
  const auto channel = std::ranges::min_element(
      way.channels, {}, [now](std::uint64_t free) { return static_cast<Time>(free - now); });

  const Time begin = std::max(submit, until(now, *channel)) + latency;
  const Time served = std::max(begin, until(now, way.link));
  // Until the other direction's transfer ends, this one gets a share of the link, then all of it.
  const Time beside = until(now, other.link) - served;
  Time took = data;
  if (beside > 0 && data > 0) {
    const double share = timing_->share_beside_other(direction, bytes, bank == other.bank);
    const auto meanwhile = static_cast<Time>(share * static_cast<double>(beside));
    took = meanwhile < data ? beside + data - meanwhile
                            : static_cast<Time>(static_cast<double>(data) / share);
  }
  // A channel slower than the link leaves the rest of the link's rate to other channels.
  const double used = timing_->share_of_channel(direction, bytes);
  const Time link_end = served + static_cast<Time>(used * static_cast<double>(took));
  const Time end = std::max(begin + took, link_end);
  way.link = now + static_cast<std::uint64_t>(link_end);
  way.bank = bank;
  *channel = now + static_cast<std::uint64_t>(end);
  return {.simulated = end - submit, .driver = alone.driver};
}

}  // namespace isthmus::card::process

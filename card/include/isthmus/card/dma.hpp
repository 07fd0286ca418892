// The card's DMA engine and the driver in front of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "isthmus/card/machine.hpp"

namespace isthmus::card {

enum class Direction : std::uint8_t { h2d, d2h };

/// What a transfer is to the engine: no data, only where it goes.
struct DmaJob {
  Direction direction = Direction::h2d;
  std::int64_t bytes = 0;
  std::int64_t page_offset = 0;  ///< of the first byte within its host page
  std::size_t bank = 0;
  Residence residence;
};

/// Driver, doorbells, and channels that work through their queues.
class DmaEngine {
 public:
  explicit DmaEngine(Machine& machine);
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;
  ~DmaEngine();

  /// Submits all jobs one after another, runs the machine, and returns the time from before the
  /// first to when the driver has finished with the last.
  Time run(std::span<const DmaJob> jobs);

 private:
  class Channel;

  Machine* machine_;
  std::vector<std::unique_ptr<Channel>> channels_;  ///< those of h2d, then those of d2h
  Server driver_;
};

}  // namespace isthmus::card

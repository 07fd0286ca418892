// The card's DMA engine and the driver in front of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "isthmus/card/machine.hpp"

namespace isthmus::card {

enum class Direction : std::uint8_t { h2d, d2h };

/// A transfer without its data: direction, size and places.
struct DmaJob {
  Direction direction = Direction::h2d;
  std::int64_t bytes = 0;
  std::int64_t page_offset = 0;  ///< offset of the first byte in its host page
  std::size_t bank = 0;
  Residence residence;
  Actor* owner = nullptr;  ///< if not null: gets an event with `tag` at the end
  std::uint64_t tag = 0;
};

/// Channels of both directions. Each channel has a thread of the driver, which submits a job, waits
/// for its end and takes the next job. XRT's xocl works in this way, and sleeps in the system call.
class DmaEngine {
 public:
  explicit DmaEngine(Machine& machine);
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;
  ~DmaEngine();

  /// Distributes the jobs to the channels in turn, runs the machine, and returns the time until the
  /// driver has finished the last job.
  Time run(std::span<const DmaJob> jobs);

  /// Clears the queues; to be called before the first `submit` of new work.
  void clear();
  /// Queues a job now, for the channel whose turn it is.
  void submit(const DmaJob& job);

 private:
  class Channel;

  Machine* machine_;
  std::vector<std::unique_ptr<Channel>> channels_;  ///< channels of h2d, then of d2h
  std::array<std::size_t, 2> next_{};  ///< next channel to get a job, in each direction
};

}  // namespace isthmus::card

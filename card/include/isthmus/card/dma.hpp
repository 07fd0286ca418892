// The card's DMA engine, and the driver's threads that serve it.
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

/// A transfer as the engine sees it, without data.
struct DmaJob {
  Direction direction = Direction::h2d;
  std::int64_t bytes = 0;
  std::int64_t page_offset = 0;  ///< position of the first byte in its page of host memory
  std::size_t bank = 0;
  Residence residence;
  Actor* owner = nullptr;  ///< gets an event with `tag` at the end of the job, if not null
  std::uint64_t tag = 0;
};

/// The engine's channels in both directions. Each has a thread of the driver, which submits a job,
/// sleeps until it ends and takes the next: XRT's driver xocl works like this.
class DmaEngine {
 public:
  explicit DmaEngine(Machine& machine);
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;
  ~DmaEngine();

  /// Gives each channel jobs in turn and runs the machine; returns the time until the driver has
  /// finished the last job.
  Time run(std::span<const DmaJob> jobs);

  /// Clears the queues; call it before the first `submit` of new work.
  void clear();
  /// Queues a job now, at the channel whose turn it is.
  void submit(const DmaJob& job);

 private:
  class Channel;

  Machine* machine_;
  /// Channels to the card, then channels to the host.
  std::vector<std::unique_ptr<Channel>> channels_;
  /// Index of the channel that gets the next job, in each direction.
  std::array<std::size_t, 2> next_{};
};

}  // namespace isthmus::card

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

/// What a transfer is to the engine: no data, only where it goes.
struct DmaJob {
  Direction direction = Direction::h2d;
  std::int64_t bytes = 0;
  std::int64_t page_offset = 0;  ///< of the first byte within its host page
  std::size_t bank = 0;
  Residence residence;
  Actor* owner = nullptr;  ///< gets an event with `tag` when the driver has finished, if not null
  std::uint64_t tag = 0;
};

/// Channels of both directions. In front of each is a thread of the driver, which submits a job,
/// waits for its end and takes the next: XRT's xocl does so, and sleeps in the system call.
class DmaEngine {
 public:
  explicit DmaEngine(Machine& machine);
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;
  ~DmaEngine();

  /// Hands all jobs to the channels in turn, runs the machine, and returns the time until the
  /// driver has finished with the last.
  Time run(std::span<const DmaJob> jobs);

  /// Forgets what was queued; before the first `submit` of new work.
  void clear();
  /// Queues a job now, for the channel whose turn it is.
  void submit(const DmaJob& job);

 private:
  class Channel;

  Machine* machine_;
  std::vector<std::unique_ptr<Channel>> channels_;  ///< those of h2d, then those of d2h
  std::array<std::size_t, 2> next_{};  ///< channel of each direction that is next to get a job
};

}  // namespace isthmus::card

// Chunks that go to the card, through a kernel, and back, with several under way.
#pragma once

#include <cstdint>
#include <deque>

#include "isthmus/card/dma.hpp"
#include "isthmus/card/kernel.hpp"

namespace isthmus::card {

/// The work for each of `chunks`. The first `slots` chunks begin at once; each later chunk begins
/// when the last chunk in its slot is done.
struct PipelineJob {
  DmaJob in;
  KernelJob kernel;
  DmaJob out;
  std::int64_t chunks = 1;
  std::int64_t slots = 1;
};

/// Software that starts each stage of a chunk after the end of the last stage. It launches one
/// kernel after the other.
class Pipeline final : public Actor {
 public:
  Pipeline(Machine& machine, DmaEngine& dma, KernelUnit& kernel);

  /// Runs the machine until the last chunk is back; returns that time.
  Time run(const PipelineJob& job);
  void handle(std::uint64_t payload) override;

 private:
  void begin_chunk();
  void launch_next();

  Machine* machine_;
  DmaEngine* dma_;
  KernelUnit* kernel_;
  PipelineJob job_;
  std::int64_t begun_ = 0;
  std::int64_t waiting_ = 0;  ///< chunks on the card that wait for the kernel
  bool computing_ = false;
};

}  // namespace isthmus::card

// Streams chunks to the card, through a kernel, and back, with several chunks under way.
#pragma once

#include <cstdint>
#include <deque>

#include "isthmus/card/dma.hpp"
#include "isthmus/card/kernel.hpp"

namespace isthmus::card {

/// What happens to each chunk. The first `slots` chunks begin at once; each later chunk begins when
/// its slot's previous chunk is done.
struct PipelineJob {
  DmaJob in;
  KernelJob kernel;
  DmaJob out;
  std::int64_t chunks = 1;
  std::int64_t slots = 1;
};

/// The host's software, which starts each stage of a chunk when the chunk's previous stage has
/// ended. It launches one kernel at a time.
class Pipeline final : public Actor {
 public:
  Pipeline(Machine& machine, DmaEngine& dma, KernelUnit& kernel);

  /// Runs the machine until the last chunk is back; returns the time that takes.
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
  std::int64_t waiting_ = 0;  ///< chunks whose data are on the card and wait for the kernel
  bool computing_ = false;
};

}  // namespace isthmus::card

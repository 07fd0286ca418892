// Chunks through the card: in, through a kernel, out, with several under way.
#pragma once

#include <cstdint>
#include <deque>

#include "isthmus/card/dma.hpp"
#include "isthmus/card/kernel.hpp"

namespace isthmus::card {

/// What happens to each of `chunks`; the first `slots` begin at once, each other one when the chunk
/// that had its slot before is done.
struct PipelineJob {
  DmaJob in;
  KernelJob kernel;
  DmaJob out;
  std::int64_t chunks = 1;
  std::int64_t slots = 1;
};

/// Software that starts each stage of a chunk when it has seen the end of the one before. Kernels
/// are launched one after another.
class Pipeline final : public Actor {
 public:
  Pipeline(Machine& machine, DmaEngine& dma, KernelUnit& kernel);

  /// Runs the machine until the last chunk is out.
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
  std::int64_t waiting_ = 0;  ///< chunks that are on the card and wait for the kernel
  bool computing_ = false;
};

}  // namespace isthmus::card

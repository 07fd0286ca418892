#include "isthmus/card/pipeline.hpp"

#include <algorithm>

namespace isthmus::card {
namespace {

/// Stages of a chunk, as payloads of events at their ends; `launched`: software has launched the
/// kernel.
enum Stage : std::uint8_t { in, launched, computed, out };

}  // namespace

Pipeline::Pipeline(Machine& machine, DmaEngine& dma, KernelUnit& kernel)
    : machine_(&machine), dma_(&dma), kernel_(&kernel) {
  constexpr std::int64_t pipeline_id = 3000;
  id = pipeline_id;
}

Time Pipeline::run(const PipelineJob& job) {
  machine_->forget();
  dma_->clear();
  job_ = job;
  job_.in.owner = this;
  job_.in.tag = in;
  job_.out.owner = this;
  job_.out.tag = out;
  begun_ = 0;
  waiting_ = 0;
  computing_ = false;
  const Time begin = machine_->now();
  for (std::int64_t i = 0; i < std::min(job.slots, job.chunks); ++i) {
    begin_chunk();
  }
  machine_->run();
  return machine_->now() - begin;
}

void Pipeline::begin_chunk() {
  ++begun_;
  dma_->submit(job_.in);
}

void Pipeline::launch_next() {
  if (computing_ || waiting_ == 0) {
    return;
  }
  computing_ = true;
  --waiting_;
  Simulator& simulator = machine_->crossing.simulator;
  simulator.schedule(simulator.now() + from_nanoseconds(machine_->board.kernel.value().launch_ns),
                     *this, launched);
}

void Pipeline::handle(std::uint64_t payload) {
  switch (payload) {
    case in:
      ++waiting_;
      launch_next();
      break;
    case launched:
      kernel_->start(job_.kernel, this, computed);
      break;
    case computed:
      computing_ = false;
      dma_->submit(job_.out);
      launch_next();
      break;
    default:
      if (begun_ < job_.chunks) {
        begin_chunk();
      }
  }
}

}  // namespace isthmus::card

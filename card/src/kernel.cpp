#include "isthmus/card/kernel.hpp"

#include <algorithm>

namespace isthmus::card {
namespace {

Pace datapath_pace(const KernelParameters& kernel) {
  return Pace::of_rate(kernel.clock_MHz * 1e6 * static_cast<double>(kernel.width_bytes));
}

}  // namespace

KernelUnit::KernelUnit(Machine& machine)
    : machine_(&machine),
      reader_(machine.crossing),
      writer_(machine.crossing),
      bursts_(machine.crossing) {
  constexpr std::int64_t unit_id = 2000;
  id = unit_id;
}

Residence KernelUnit::residence(const Board& board, const KernelJob& job, bool reads) {
  const std::int64_t sharers = job.kernel == Kernel::bandwidth ? 2 : 1;
  const HostParameters& host = board.host;
  return {(reads ? host.cache_read_bytes : host.cache_write_bytes) / sharers, job.bytes};
}

std::int64_t KernelUnit::requests(const Board& board) {
  const KernelParameters& kernel = board.kernel.value();
  const std::int64_t burst = kernel.width_bytes * kernel.burst_beats;
  const std::int64_t each = std::max<std::int64_t>(1, burst / board.link.max_read_request_bytes);
  return std::min(kernel.tags, kernel.outstanding * each);
}

void KernelUnit::require_reach(const Board& board, Target target) {
  if (target == Target::host && !board.kernel.value().reaches_host) {
    throw BoardError("kernels of " + board.name +
                     " do not reach host memory: kernel.reaches_host is false");
  }
}

Time KernelUnit::run(const KernelJob& job) {
  machine_->forget();
  const Time begin = machine_->now();
  start(job, nullptr, 0);
  machine_->run();
  return machine_->now() - begin;
}

void KernelUnit::start(const KernelJob& job, Actor* owner, std::uint64_t tag) {
  owner_ = owner;
  tag_ = tag;
  std::int64_t all_bytes = 0;
  // Counts below zero were too large for what holds them.
  if (job.bytes < 0 || job.iterations < 0 ||
      __builtin_mul_overflow(job.bytes, job.iterations, &all_bytes)) {
    throw TooLongError();
  }
  if (all_bytes == 0) {
    if (owner != nullptr) {
      owner->handle(tag);
    }
    return;
  }
  require_reach(machine_->board, job.target);
  const KernelParameters& kernel = machine_->board.kernel.value();
  const std::int64_t burst = kernel.width_bytes * kernel.burst_beats;
  StreamPlan plan;
  plan.bytes = job.bytes;
  plan.segment_bytes = burst;
  sweeps_left_ = job.iterations;
  const bool reads = job.kernel != Kernel::write_bandwidth;
  const bool writes = job.kernel != Kernel::read_bandwidth;
  if (job.bytes <= single_bursts * burst) {
    plan.repeat_bytes = job.bytes;
    plan.bytes = all_bytes;
    plan.interval = from_nanoseconds(reads && writes ? kernel.copy_block_interval_ns
                                                     : kernel.block_interval_ns);
    sweeps_left_ = 1;
  }
  parts_.clear();
  if (job.target == Target::host) {
    reach_host(job, plan);
  } else {
    reach_banks(job, plan);
  }
  sweep();
}

void KernelUnit::reach_host(const KernelJob& job, StreamPlan plan) {
  const KernelParameters& kernel = machine_->board.kernel.value();
  const bool reads = job.kernel != Kernel::write_bandwidth;
  const bool writes = job.kernel != Kernel::read_bandwidth;
  if (reads) {
    plan.address = job.page_offsets[0];
    plan.residence = residence(machine_->board, job, true);
    reader_.limits(requests(machine_->board), from_nanoseconds(kernel.host_latency_ns),
                   {.server = &machine_->datapath_in, .byte = datapath_pace(kernel)},
                   writes ? &writer_ : nullptr);
    parts_.push_back({&reader_, plan});
  }
  if (writes) {
    plan.address = job.page_offsets[1];
    plan.residence = residence(machine_->board, job, false);
    if (reads) {
      plan.interval = 0;  // it follows the reader
    }
    writer_.limits({.server = &machine_->datapath_out, .byte = datapath_pace(kernel)},
                   kernel.outstanding, from_nanoseconds(kernel.write_response_ns), reads);
    // First, so that it is there when data come.
    parts_.insert(parts_.begin(), {&writer_, plan});
  }
}

void KernelUnit::reach_banks(const KernelJob& job, StreamPlan plan) {
  const KernelParameters& kernel = machine_->board.kernel.value();
  std::vector<Port> read_ports;
  read_ports.reserve(job.read_banks.size());
  for (const std::size_t bank : job.read_banks) {
    read_ports.push_back(machine_->bank_port(bank));
  }
  const bool writes = job.kernel != Kernel::read_bandwidth;
  // The intervals of single blocks are those of host memory: here as many are in flight as there.
  const bool single = plan.repeat_bytes > 0;
  plan.interval = 0;
  bursts_.limits(std::move(read_ports),
                 writes ? machine_->bank_port(job.write_banks.at(0)) : Port{},
                 {.server = &machine_->datapath_in, .byte = datapath_pace(kernel)},
                 single ? std::min(kernel.outstanding, single_bursts) : kernel.outstanding);
  parts_.push_back({&bursts_, plan});
}

void KernelUnit::sweep() {
  --sweeps_left_;
  open_ = parts_.size();
  for (const Part& part : parts_) {
    part.stream->begin(part.plan, *this);
  }
}

void KernelUnit::handle(std::uint64_t /*stream*/) {
  if (--open_ > 0) {
    return;
  }
  if (owner_ == nullptr) {  // alone: nothing else has a state
    machine_->skip_sweeps(sweeps_left_);
  }
  if (sweeps_left_ > 0) {
    sweep();
  } else if (owner_ != nullptr) {
    owner_->handle(tag_);
  }
}

}  // namespace isthmus::card

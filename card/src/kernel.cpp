#include "isthmus/card/kernel.hpp"

#include <algorithm>
#include <utility>

namespace isthmus::card {
namespace {

/// Returns stream `number`, and first makes it and all before it that are missing.
template <class Kind>
Kind& nth(std::vector<std::unique_ptr<Kind>>& streams, std::size_t number, Crossing& crossing) {
  while (streams.size() <= number) {
    streams.push_back(std::make_unique<Kind>(crossing));
  }
  return *streams[number];
}

std::vector<PortWork> ports_of(const KernelJob& job) {
  std::vector<PortWork> ports;
  const bool host = job.target == Target::host;
  const auto add = [&](bool writes, const std::vector<std::size_t>& banks) {
    const std::int64_t offset = job.page_offsets.at(writes ? 1 : 0);
    for (const std::size_t bank : host ? std::vector<std::size_t>{0} : banks) {
      ports.push_back({.writes = writes,
                       .target = job.target,
                       .bank = bank,
                       .page_offset = offset,
                       .bytes = job.bytes});
    }
  };
  if (job.kernel != Kernel::write_bandwidth) {
    add(false, job.read_banks);
  }
  if (job.kernel != Kernel::read_bandwidth) {
    add(true, job.write_banks);
  }
  return ports;
}

}  // namespace

KernelUnit::KernelUnit(Machine& machine) : machine_(&machine) {
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

Time KernelUnit::run(const KernelJob& job) { return run(ports_of(job), job.iterations); }

Time KernelUnit::run(const std::vector<PortWork>& ports, std::int64_t iterations) {
  machine_->forget();
  const Time begin = machine_->now();
  owner_ = nullptr;
  start(ports, iterations);
  machine_->run();
  return machine_->now() - begin;
}

void KernelUnit::start(const KernelJob& job, Actor* owner, std::uint64_t tag) {
  owner_ = owner;
  tag_ = tag;
  start(ports_of(job), job.iterations);
}

void KernelUnit::start(std::vector<PortWork> ports, std::int64_t iterations) {
  const KernelParameters& kernel = machine_->board.kernel.value();
  const std::int64_t burst = kernel.width_bytes * kernel.burst_beats;
  single_blocks_ = true;
  for (const PortWork& port : ports) {
    std::int64_t all_bytes = 0;
    // An overflow makes a count negative.
    if (port.bytes < 0 || iterations < 0 ||
        __builtin_mul_overflow(port.bytes, iterations, &all_bytes)) {
      throw TooLongError();
    }
    single_blocks_ = single_blocks_ && port.bytes <= single_bursts * burst;
  }
  std::erase_if(ports, [](const PortWork& port) { return port.bytes == 0; });
  if (ports.empty() || iterations == 0) {
    if (owner_ != nullptr) {
      owner_->handle(tag_);
    }
    return;
  }
  const auto writes = std::ranges::count_if(ports, &PortWork::writes);
  copies_ = writes > 0 && std::cmp_less(writes, ports.size());
  sweeps_left_ = single_blocks_ ? 1 : iterations;
  parts_.clear();
  const auto on_card = std::ranges::partition(
      ports, [](const PortWork& port) { return port.target == Target::host; });
  reach_host({ports.begin(), on_card.begin()}, iterations);
  reach_banks({on_card.begin(), on_card.end()}, iterations);
  sweep();
}

StreamPlan KernelUnit::plan_of(const PortWork& port, std::int64_t iterations) const {
  const KernelParameters& kernel = machine_->board.kernel.value();
  StreamPlan plan;
  plan.bytes = port.bytes;
  plan.segment_bytes = kernel.width_bytes * kernel.burst_beats;
  plan.address = port.page_offset;
  if (single_blocks_) {
    plan.repeat_bytes = port.bytes;
    plan.bytes = port.bytes * iterations;
    plan.interval =
        from_nanoseconds(copies_ ? kernel.copy_block_interval_ns : kernel.block_interval_ns);
  }
  return plan;
}

void KernelUnit::reach_host(const std::vector<PortWork>& ports, std::int64_t iterations) {
  if (ports.empty()) {
    return;
  }
  require_reach(machine_->board, Target::host);
  const KernelParameters& kernel = machine_->board.kernel.value();
  const HostParameters& host = machine_->board.host;
  const auto count = static_cast<std::int64_t>(ports.size());
  const std::int64_t writes = std::ranges::count_if(ports, &PortWork::writes);
  const bool follows = count == 2 && writes == 1 && ports[0].bytes == ports[1].bytes;
  std::size_t reader = 0;
  std::size_t writer = 0;
  for (const PortWork& port : ports) {
    StreamPlan plan = plan_of(port, iterations);
    plan.residence = {(port.writes ? host.cache_write_bytes : host.cache_read_bytes) / count,
                      port.bytes};
    if (port.writes) {
      if (follows) {
        plan.interval = 0;  // the reader has the interval
      }
      Writer& stream = nth(writers_, writer++, machine_->crossing);
      stream.limits(machine_->datapath(parts_.size()), kernel.outstanding,
                    from_nanoseconds(kernel.write_response_ns), follows);
      // The writer comes first, so that it exists when the reader's data arrive.
      parts_.insert(parts_.begin(), {&stream, plan});
    } else {
      Reader& stream = nth(readers_, reader++, machine_->crossing);
      stream.limits(std::max<std::int64_t>(requests(machine_->board) / (count - writes), 1),
                    from_nanoseconds(kernel.host_latency_ns), machine_->datapath(parts_.size()),
                    follows ? &nth(writers_, 0, machine_->crossing) : nullptr);
      parts_.push_back({&stream, plan});
    }
  }
}

void KernelUnit::reach_banks(const std::vector<PortWork>& ports, std::int64_t iterations) {
  const bool in_step = std::ranges::all_of(
      ports, [&](const PortWork& port) { return port.bytes == ports.front().bytes; });
  const std::size_t together = in_step ? ports.size() : 1;
  const KernelParameters& kernel = machine_->board.kernel.value();
  std::size_t stream_index = 0;
  for (std::size_t first = 0; first < ports.size(); first += together) {
    std::vector<Port> reads;
    std::vector<Port> writes;
    for (std::size_t index = first; index < first + together; ++index) {
      const PortWork& port = ports[index];
      (port.writes ? writes : reads).push_back(machine_->bank_port(port.bank, port.writes));
    }
    StreamPlan plan = plan_of(ports[first], iterations);
    plan.address = 0;
    // The intervals between single blocks belong to host memory; card memory has none.
    plan.interval = 0;
    BankStream& stream = nth(bank_streams_, stream_index++, machine_->crossing);
    const Port datapath = machine_->datapath(parts_.size(), !writes.empty());
    stream.limits(
        std::move(reads), std::move(writes), datapath,
        single_blocks_ ? std::min(kernel.outstanding, single_bursts) : kernel.outstanding);
    parts_.push_back({&stream, plan});
  }
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
  if (owner_ == nullptr) {  // with an owner, the owner's state is not part of the machine's
    machine_->skip_sweeps(sweeps_left_);
  }
  if (sweeps_left_ > 0) {
    sweep();
  } else if (owner_ != nullptr) {
    owner_->handle(tag_);
  }
}

}  // namespace isthmus::card

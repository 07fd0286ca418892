#include "machine_port.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "masters.hpp"

namespace isthmus::card {
namespace {

constexpr std::int64_t beat_bytes = axi_bytes;
/// Bytes that the bridge to the link buffers: one burst.
constexpr std::int64_t bridge_bytes = 4096;
/// A limit that never applies, because the kernel itself limits its bursts.
constexpr std::int64_t no_limit = std::int64_t{1} << 40U;

std::int64_t whole_beats(std::int64_t bytes) {
  return (bytes + beat_bytes - 1) / beat_bytes * beat_bytes;
}

/// Returns a mask with a bit for each of the first `bytes` of a beat.
std::uint64_t mask(std::int64_t bytes) {
  if (bytes >= beat_bytes) {
    return ~std::uint64_t{0};
  }
  return bytes <= 0 ? 0 : (std::uint64_t{1} << static_cast<unsigned>(bytes)) - 1;
}

}  // namespace

MachinePort::MachinePort(Machine& machine, RtlKernel& kernel, const RtlJob& job)
    : machine_(&machine),
      kernel_(&kernel),
      job_(job),
      outstanding_(machine.board.kernel.value().outstanding),
      asking_{.bytes = whole_beats(job.work.bytes), .left = job.work.iterations},
      reading_(asking_),
      opening_(asking_),
      writing_(asking_) {}

bool MachinePort::single_blocks() const { return job_.work.bytes <= single_bursts * bridge_bytes; }

bool MachinePort::follow(Walk& walk, std::uint64_t base, const Burst& burst) {
  if (walk.left == 0 || burst.address != base + static_cast<std::uint64_t>(walk.at)) {
    throw std::logic_error("an RTL kernel went astray in its buffer");
  }
  const bool first = walk.at == 0;
  if (first && !single_blocks() && (&walk == &asking_ || job_.input == nullptr)) {
    skip_sweeps(walk);
  }
  walk.advance(static_cast<std::int64_t>(burst.bytes()));
  return first;
}

/// Skips sweeps that repeat. At the begin of a sweep all bursts of the previous sweep have ended,
/// in the kernel too.
void MachinePort::skip_sweeps(const Walk& walk) {
  std::int64_t after_this = walk.left - 1;
  const std::int64_t before = after_this;
  machine_->skip_sweeps(after_this);
  const std::int64_t skipped = before - after_this;
  if (skipped > 0) {
    kernel_->skip_sweeps(static_cast<std::uint64_t>(skipped));
    for (Walk* each : {&asking_, &reading_, &opening_, &writing_}) {
      each->left -= skipped;
    }
    skipped_ += skipped;
  }
}

bool MachinePort::read(const Burst& burst, Time /*now*/) {
  if (std::ssize(reads_) >= outstanding_) {
    return false;
  }
  const bool first = follow(asking_, input_address, burst);
  reads_.push_back(burst.beats);
  ask(static_cast<std::int64_t>(burst.bytes()), first);
  return true;
}

std::optional<Response> MachinePort::read_beat(std::span<std::byte> data, Time /*now*/) {
  if (arrived() - taken_ < beat_bytes) {
    return std::nullopt;
  }
  const std::int64_t inside = std::min(beat_bytes, job_.work.bytes - reading_.at);
  std::ranges::fill(data, std::byte{0});
  std::memcpy(data.data(), job_.input + reading_.at, static_cast<std::size_t>(inside));
  const std::int64_t flipped = job_.flip.offset - reading_.at;
  if (job_.flip.bytes > 0 && flipped >= 0 && flipped < inside) {
    data[static_cast<std::size_t>(flipped)] ^= std::byte{1};
  }
  taken_ += beat_bytes;
  reading_.advance(beat_bytes);
  if (--reads_.front() == 0) {
    reads_.pop_front();
  }
  return Response::okay;
}

bool MachinePort::write(const Burst& burst, Time /*now*/) {
  if (opened_ - told_ >= outstanding_) {
    return false;
  }
  open(follow(opening_, output_address, burst));
  ++opened_;
  to_write_ += static_cast<std::int64_t>(burst.bytes());
  return true;
}

bool MachinePort::write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                             Time /*now*/) {
  if (to_write_ == 0 || !has_room(beat_bytes)) {
    return false;
  }
  strobes &= mask(job_.work.bytes - writing_.at);
  const std::int64_t begin = job_.drop.offset - writing_.at;
  strobes &= ~(mask(begin + job_.drop.bytes) & ~mask(begin));
  std::byte* to = job_.output + writing_.at;
  if (strobes == ~std::uint64_t{0}) {
    std::memcpy(to, data.data(), data.size());
  } else {
    for (std::size_t n = 0; n < data.size(); ++n) {
      if ((strobes >> n & 1U) != 0) {
        to[n] = data[n];
      }
    }
  }
  to_write_ -= beat_bytes;
  writing_.advance(beat_bytes);
  send(beat_bytes, last);
  return true;
}

std::optional<Response> MachinePort::write_response(Time /*now*/) {
  if (answered() == told_) {
    return std::nullopt;
  }
  ++told_;
  return Response::okay;
}

HostPort::HostPort(Machine& machine, RtlKernel& kernel, const RtlJob& job, Reader& reader,
                   Writer& writer)
    : MachinePort(machine, kernel, job), reader_(&reader), writer_(&writer) {
  constexpr std::int64_t port_id = 4001;
  id = port_id;
  const KernelParameters& parameters = machine.board.kernel.value();
  const Port free{.server = &unlimited_, .byte = {}};
  reader_->limits(KernelUnit::requests(machine.board), from_nanoseconds(parameters.host_latency_ns),
                  free, this, true);
  writer_->limits(free, no_limit, from_nanoseconds(parameters.write_response_ns), true, true);
}

StreamPlan HostPort::plan(bool reads) const {
  return {.bytes = single_blocks() ? sweep_bytes() * work().iterations : sweep_bytes(),
          .address = work().page_offsets[reads ? 0 : 1],
          .repeat_bytes = single_blocks() ? sweep_bytes() : 0,
          .segment_bytes = bridge_bytes,
          .residence = KernelUnit::residence(machine().board, work(), reads)};
}

void HostPort::ask(std::int64_t bytes, bool first) {
  if (first && !reader_->active()) {
    reader_->begin(plan(true), *this);
  }
  reader_->offer(bytes);
}

void HostPort::open(bool first) {
  if (first && !writer_->active()) {
    writer_->begin(plan(false), *this);
  }
}

bool HostPort::has_room(std::int64_t bytes) { return writer_->waiting() + bytes <= bridge_bytes; }

void HostPort::send(std::int64_t bytes, bool /*burst_ends*/) { writer_->offer(bytes); }

void HostPort::handle(std::uint64_t stream) {
  if (std::cmp_equal(stream, writer_->id)) {
    ++answered_;
  }
}

BankPort::BankPort(Machine& machine, RtlKernel& kernel, const RtlJob& job)
    : MachinePort(machine, kernel, job) {
  if (job.input != nullptr) {
    from_ = machine.bank_port(job.work.read_banks.at(0), false);
  }
  if (job.output != nullptr) {
    to_ = machine.bank_port(job.work.write_banks.at(0), true);
  }
}

std::int64_t BankPort::due(std::deque<Due>& queue) const {
  std::int64_t amount = 0;
  while (!queue.empty() && queue.front().time <= now()) {
    amount += queue.front().amount;
    queue.pop_front();
  }
  return amount;
}

void BankPort::ask(std::int64_t bytes, bool /*first*/) {
  data_.push_back({from_.claim(now(), bytes) + from_.latency, bytes});
}

std::int64_t BankPort::arrived() { return arrived_ += due(data_); }

void BankPort::send(std::int64_t bytes, bool burst_ends) {
  burst_bytes_ += bytes;
  if (burst_ends) {
    const Time through = to_.claim(now(), std::exchange(burst_bytes_, 0));
    responses_.push_back({through + to_.latency, 1});
  }
}

std::int64_t BankPort::answered() { return answered_ += due(responses_); }

}  // namespace isthmus::card

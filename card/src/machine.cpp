#include "isthmus/card/machine.hpp"

#include <algorithm>
#include <limits>

namespace isthmus::card {

const Recurrence::Seen* Recurrence::find(const State& state, Time time,
                                         const std::vector<std::int64_t>& progress) {
  if (looks_ > 0 && state == seen_.state) {
    return &seen_;
  }
  if (++looks_ == keep_at_) {
    seen_ = {state, time, progress};
    keep_at_ *= 2;
  }
  return nullptr;
}

void Recurrence::forget() {
  looks_ = 0;
  keep_at_ = 1;
}

Machine::Machine(const Board& described, std::uint64_t seed)
    : board(described),
      crossing(described, seed),
      banks(described.memory ? static_cast<std::size_t>(described.memory->banks) : 0) {}

void Machine::reset(std::uint64_t sample) {
  crossing.reset(sample);
  std::ranges::fill(banks, Server{});
  inbound = {};
  std::ranges::fill(datapaths_, Server{});
  skipped_ = 0;
  periods_skipped = 0;
  forget();
}

void Machine::forget() {
  bytes_.forget();
  sweeps_.forget();
}

Port Machine::bank_port(std::size_t bank) {
  if (!board.memory) {
    throw BoardError("missing parameter memory.banks: this card has no memory");
  }
  const MemoryParameters& memory = *board.memory;
  const double refreshing =
      memory.refresh_ns > 0 ? memory.refresh_ns / memory.refresh_interval_ns : 0;
  constexpr std::size_t hbm_banks = 32;
  const bool is_ddr = memory.hbm && bank >= hbm_banks && memory.ddr_bandwidth_Bps > 0;
  const double bandwidth = is_ddr ? memory.ddr_bandwidth_Bps : memory.bandwidth_Bps;
  return {.server = &banks.at(bank),
          .byte = Pace::of_rate(bandwidth * (1 - refreshing)),
          .latency = from_nanoseconds(memory.latency_ns)};
}

Port Machine::bank_port(std::size_t bank, bool writes) {
  Port port = bank_port(bank);  // throws if the card has no memory
  const MemoryParameters& memory = board.memory.value();
  port.writes = writes;
  port.turnaround = from_nanoseconds(writes ? memory.read_to_write_ns : memory.write_to_read_ns);
  return port;
}

Port Machine::datapath(std::size_t port, bool writes_card) {
  if (port >= datapaths_.size()) {
    datapaths_.resize(port + 1);  // existing elements keep their addresses
  }
  const KernelParameters& kernel = board.kernel.value();
  return {.server = &datapaths_[port],
          .byte = Pace::of_rate(kernel.clock_MHz * 1e6 * static_cast<double>(kernel.width_bytes)),
          .gap = writes_card ? Pace::of_clock(kernel.clock_MHz).of(kernel.write_gap_cycles) : 0};
}

void Machine::run() {
  while (!crossing.simulator.idle()) {
    crossing.simulator.step();
    if (crossing.at_boundary != nullptr) {
      const auto leader = std::ranges::find_if(crossing.streams, &Stream::active);
      if (fast_forward && !sweeps_only && deterministic() && leader != crossing.streams.end() &&
          *leader == crossing.at_boundary) {
        skip_bytes();
      }
      crossing.at_boundary = nullptr;
    }
  }
}

/// Saves all state that decides the future, except how much work is left.
void Machine::save() {
  const Time now = crossing.simulator.now();
  std::vector<std::int64_t>& pages = progress_;
  pages.clear();
  for (const Stream* stream : crossing.streams) {
    stream->save(state_);
    pages.push_back(stream->page());
  }
  crossing.simulator.save(state_);
  crossing.link.save(state_, now);
  crossing.host.save(state_, now, pages);
  crossing.posted_data.save(state_, now);
  crossing.posted_headers.save(state_, now);
  crossing.nonposted_headers.save(state_, now);
  for (const Server& bank : banks) {
    state_.push_back(ahead(bank.free, now));
    for (const Time until : bank.until) {
      state_.push_back(ahead(until, now));
    }
  }
  state_.push_back(ahead(inbound.free, now));
  for (const Server& datapath : datapaths_) {
    state_.push_back(ahead(datapath.free, now));
  }
}

void Machine::skip_time(std::int64_t periods, Time period) {
  Time skipped = 0;
  if (__builtin_mul_overflow(periods, period, &skipped) ||
      __builtin_add_overflow(skipped_, skipped, &skipped_) ||
      __builtin_add_overflow(skipped_, crossing.simulator.now(), &skipped)) {
    throw TooLongError();
  }
}

void Machine::skip_bytes() {
  state_.clear();
  for (const Stream* stream : crossing.streams) {
    state_.push_back(stream->begun());
  }
  save();
  progress_.clear();
  for (const Stream* stream : crossing.streams) {
    progress_.push_back(stream->issued());
  }
  const Recurrence::Seen* before = bytes_.find(state_, now(), progress_);
  if (before == nullptr) {
    return;
  }
  std::int64_t periods = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const Stream& stream = *crossing.streams[i];
    const std::int64_t period = progress_[i] - before->progress[i];
    if (stream.active() && period > 0) {
      // A stream looks ahead by a packet, so its end must stay out of that range after the skip.
      const std::int64_t left = stream.plan().bytes - stream.issued() - stream.plan().segment_bytes;
      periods = std::min(periods, std::max<std::int64_t>(left, 0) / period);
    }
  }
  if (periods > 0) {
    std::vector<std::int64_t> moved;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
      Stream& stream = *crossing.streams[i];
      const std::int64_t page = stream.page();
      stream.skip(periods * (progress_[i] - before->progress[i]));
      moved.push_back(stream.page() - page);
    }
    crossing.host.advance(moved);
    skip_time(periods, now() - before->time);
    periods_skipped += static_cast<std::uint64_t>(periods);
  }
  bytes_.forget();
}

void Machine::skip_sweeps(std::int64_t& left) {
  if (!fast_forward || !deterministic()) {
    return;
  }
  state_.clear();
  save();
  progress_.assign(1, left);
  const Recurrence::Seen* before = sweeps_.find(state_, now(), progress_);
  if (before == nullptr) {
    return;
  }
  const std::int64_t period = before->progress[0] - left;
  const std::int64_t periods = left / period;
  left -= periods * period;
  skip_time(periods, now() - before->time);
  periods_skipped += static_cast<std::uint64_t>(periods);
  sweeps_.forget();
}

}  // namespace isthmus::card

#include <algorithm>
#include <utility>

#include "isthmus/card/stream.hpp"

namespace isthmus::card {

namespace {

/// Uses all banks for a burst; returns when the last bank is done.
Time claim_all(const std::vector<Port>& banks, Time now, std::int64_t bytes) {
  Time done = 0;
  for (const Port& bank : banks) {
    done = std::max(done, bank.claim(now, bytes) + bank.latency);
  }
  return done;
}

}  // namespace

Time Port::claim(Time now, std::int64_t bytes) const {
  const auto way = static_cast<std::size_t>(writes);
  const bool shared = server->until.at(1 - way) > now;
  server->claim(now, (shared ? turnaround : 0) + byte.of(bytes));
  const Time through = server->free;
  server->until.at(way) = through;
  if (gap > 0) {
    server->claim(through, gap);
  }
  return through;
}

void BankStream::limits(std::vector<Port> reads, std::vector<Port> writes, const Port& datapath,
                        std::int64_t outstanding) {
  reads_ = std::move(reads);
  writes_ = std::move(writes);
  datapath_ = datapath;
  outstanding_ = outstanding;
  left_ = outstanding;
}

void BankStream::proceed() {
  while (active() && left_ > 0 && paced()) {
    --left_;
    const std::int64_t bytes = next_bytes(plan_.segment_bytes);
    Stream::issued(bytes);
    if (reads_.empty()) {
      compute(bytes);
      continue;
    }
    schedule(claim_all(reads_, now(), bytes), {.kind = arrive, .bytes = bytes});
  }
}

/// Passes bytes through the kernel, then writes them to the banks, if there are any to write.
void BankStream::compute(std::int64_t bytes) {
  const Time through = datapath_.claim(now(), bytes);
  schedule(through, {.kind = writes_.empty() ? release : deliver, .bytes = bytes});
}

void BankStream::handle(std::uint64_t payload) {
  const Packed packet = Packed::unpack(payload);
  switch (packet.kind) {
    case wake:
      awake();
      proceed();
      break;
    case arrive:
      compute(packet.bytes);
      break;
    case deliver:
      schedule(claim_all(writes_, now(), packet.bytes), {.kind = release, .bytes = packet.bytes});
      break;
    default:
      ++left_;
      done_ += packet.bytes;
      if (done_ == plan_.bytes) {
        complete_at(now());
      }
      proceed();
  }
}

void BankStream::save(State& state) const {
  Stream::save(state);
  state.push_back(left_);
}

void BankStream::skip(std::int64_t bytes) {
  Stream::skip(bytes);
  done_ += bytes;
}

void BankStream::reset() {
  Stream::reset();
  left_ = outstanding_;
  done_ = 0;
}

}  // namespace isthmus::card

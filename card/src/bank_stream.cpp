#include <algorithm>
#include <utility>

#include "isthmus/card/stream.hpp"

namespace isthmus::card {

void BankStream::limits(std::vector<Port> reads, const Port& write, const Port& datapath,
                        std::int64_t outstanding) {
  reads_ = std::move(reads);
  write_ = write;
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
    Time arrival = 0;
    for (const Port& bank : reads_) {
      bank.server->claim(now(), bank.byte.of(bytes));
      arrival = std::max(arrival, bank.server->free + bank.latency);
    }
    schedule(arrival, {.kind = arrive, .bytes = bytes});
  }
}

/// Through the datapath, then to the bank that is written, if any.
void BankStream::compute(std::int64_t bytes) {
  datapath_.server->claim(now(), datapath_.byte.of(bytes));
  schedule(datapath_.server->free,
           {.kind = write_.server != nullptr ? deliver : release, .bytes = bytes});
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
      write_.server->claim(now(), write_.byte.of(packet.bytes));
      schedule(write_.server->free + write_.latency, {.kind = release, .bytes = packet.bytes});
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

#include <algorithm>

#include "isthmus/card/stream.hpp"

namespace isthmus::card {
namespace {

constexpr std::int64_t credit_bytes = 16;

std::int64_t data_credits(std::int64_t bytes) { return (bytes + credit_bytes - 1) / credit_bytes; }

}  // namespace

void Writer::limits(const Port& source, std::int64_t bursts, Time response, bool follows,
                    bool answers_each) {
  follow(follows);
  source_ = source;
  bursted_ = bursts > 0;
  bursts_ = Credits(std::max<std::int64_t>(bursts, 1));
  response_ = response;
  answers_each_ = answers_each;
}

/// Fetches the next packet's data from the card while the previous packet is sent.
void Writer::fetch(Time latency) {
  if (!active()) {
    return;
  }
  const std::int64_t bytes = next_bytes(crossing_->link.parameters().max_payload_bytes);
  const Time duration = source_.byte.of(bytes);
  data_ready_ = source_.server->claim(now(), duration) + duration + latency;
}

void Writer::proceed() {
  if (!active() || !paced()) {
    return;
  }
  const std::int64_t bytes = next_bytes(crossing_->link.parameters().max_payload_bytes);
  if (!may_issue(bytes)) {
    return;
  }
  const std::int64_t units = data_credits(bytes);
  const Time data_granted = crossing_->posted_data.when(now(), units);
  const Time header_granted = crossing_->posted_headers.when(now(), 1);
  if (data_granted == Credits::unknown || header_granted == Credits::unknown) {
    waits_for_credits_ = true;
    return;
  }
  Time possible =
      std::max({data_ready_, data_granted, header_granted, crossing_->link.bus_free(Way::up)});
  const bool opens_burst = bursted_ && at_segment_start();
  if (opens_burst) {
    // Limits the bursts in flight: a burst's response time is known as soon as the burst is sent.
    possible = std::max(possible, bursts_.when(now(), 1));
  }
  if (possible > now()) {
    wake_at(possible);
    return;
  }
  crossing_->posted_data.take(units);
  crossing_->posted_headers.take(1);
  if (opens_burst) {
    bursts_.take(1);
  }
  const Access wanted = access(bytes);
  const Time arrival = crossing_->link.send(now(), Way::up, Packet::write, bytes);
  schedule(arrival, {.kind = arrive,
                     .bytes = bytes,
                     .hit = wanted.hit,
                     .translated = wanted.translated,
                     .last = issued() + bytes == plan_.bytes});
  Stream::issued(bytes, crossing_->link.bus_free(Way::up));
  if (bursted_ && (at_segment_start() || !active())) {
    bursts_.give_back(now() + response_, 1);
    if (answers_each_ || !active()) {
      complete_at(now() + response_);
    }
  }
  if (!active()) {
    return;
  }
  fetch(0);
  wake_at(std::max(crossing_->link.bus_free(Way::up), data_ready_));
}

void Writer::handle(std::uint64_t payload) {
  const Packed packet = Packed::unpack(payload);
  if (packet.kind == wake) {
    awake();
    proceed();
    return;
  }
  const Time retired = crossing_->host.write(now(), {packet.bytes, packet.hit, packet.translated});
  const Link& link = crossing_->link;
  const Time usable = retired + link.credit_return() + link.latency();
  crossing_->posted_data.give_back(usable, data_credits(packet.bytes));
  crossing_->posted_headers.give_back(usable, 1);
  if (packet.last && !bursted_) {
    complete_at(now());
  }
  crossing_->credits_came();
}

void Writer::save(State& state) const {
  Stream::save(state);
  bursts_.save(state, now());
  if (active()) {
    state.push_back(ahead(data_ready_, now()));
  }
}

void Writer::reset() {
  Stream::reset();
  bursts_.reset();
  data_ready_ = 0;
}

}  // namespace isthmus::card

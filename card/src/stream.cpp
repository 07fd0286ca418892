#include "isthmus/card/stream.hpp"

#include <algorithm>

namespace isthmus::card {

Crossing::Crossing(const Board& board, std::uint64_t seed)
    : link(board.link, seed),
      host(board.host),
      posted_data(board.link.posted_data_credits),
      posted_headers(board.link.posted_header_credits),
      nonposted_headers(board.link.nonposted_header_credits) {}

void Crossing::reset(std::uint64_t sample) {
  simulator.reset();
  link.reset(sample);
  host.reset();
  posted_data.reset();
  posted_headers.reset();
  nonposted_headers.reset();
  for (Stream* stream : streams) {
    stream->reset();
  }
  at_boundary = nullptr;
}

void Crossing::credits_came() const {
  for (Stream* stream : streams) {
    if (stream->waits_for_credits_) {
      stream->waits_for_credits_ = false;
      stream->proceed();
    }
  }
}

Stream::Stream(Crossing& crossing) : crossing_(&crossing) {
  id = static_cast<std::int64_t>(crossing.streams.size());
  crossing.streams.push_back(this);
}

void Stream::begin(const StreamPlan& plan, Actor& owner) {
  plan_ = plan;
  owner_ = &owner;
  issued_ = 0;
  offered_ = 0;
  ++begun_;
  next_ = now();
  fresh_segment_ = true;
  waits_for_credits_ = false;
  prepare();
  proceed();
}

void Stream::offer(std::int64_t bytes) {
  offered_ += bytes;
  proceed();
}

void Stream::skip(std::int64_t bytes) {
  issued_ += bytes;
  offered_ += bytes;
}

std::int64_t Stream::address() const {
  return plan_.address + (plan_.repeat_bytes > 0 ? issued_ % plan_.repeat_bytes : issued_);
}

std::int64_t Stream::page() const { return address() / crossing_->host.parameters().page_bytes; }

std::int64_t Stream::next_bytes(std::int64_t most) const {
  const std::int64_t at = address();
  const std::int64_t end =
      plan_.repeat_bytes > 0
          ? std::min(plan_.bytes, issued_ - issued_ % plan_.repeat_bytes + plan_.repeat_bytes)
          : plan_.bytes;
  return std::min(
      {end - issued_, most - at % most, plan_.segment_bytes - at % plan_.segment_bytes});
}

bool Stream::paced() {
  if (now() < next_) {
    wake_at(next_);
    return false;
  }
  return true;
}

Access Stream::access(std::int64_t bytes) {
  return {.bytes = bytes,
          .hit = plan_.residence.hit(address() / residence_page_bytes),
          .translated = crossing_->host.translate(id, page())};
}

void Stream::issued(std::int64_t bytes, Time through) {
  if (fresh_segment_) {
    segment_start_ = now();
    fresh_segment_ = false;
  }
  const bool ends = (address() + bytes) % plan_.segment_bytes == 0 ||
                    (plan_.repeat_bytes > 0 && (issued_ + bytes) % plan_.repeat_bytes == 0);
  issued_ += bytes;
  if (ends) {
    fresh_segment_ = true;
    const Time rested = plan_.gap > 0 ? std::max(now(), through) + plan_.gap : now();
    next_ = std::max(rested, segment_start_ + plan_.interval);
    crossing_->at_boundary = this;
  }
}

void Stream::wake_at(Time time) {
  if (!woken_) {
    woken_ = true;
    schedule(time, {.kind = wake, .bytes = 0});
  }
}

void Stream::complete_at(Time time) {
  crossing_->simulator.schedule(time, *owner_, static_cast<std::uint64_t>(id));
}

void Stream::save(State& state) const {
  state.push_back(active() ? 1 : 0);
  if (active()) {
    // The address decides packets, segments, cached pages and translations, so it belongs to the
    // state.
    const std::int64_t at = address();
    state.push_back(at % residence_page_bytes);
    state.push_back(at % plan_.segment_bytes);
    state.push_back(plan_.repeat_bytes > 0 ? at : 0);
    state.push_back(plan_.residence.partial() ? at / residence_page_bytes % residence_pages : 0);
    const HostParameters& host = crossing_->host.parameters();
    if (host.translation_entries > 0) {
      state.push_back(at % host.page_bytes);
      state.push_back(at / host.page_bytes % host.translation_entries);
    }
    state.push_back(ahead(next_, now()));
    state.push_back(ahead(segment_start_ + plan_.interval, now()));
    state.push_back(follows_ ? waiting() : 0);
  }
  state.push_back((fresh_segment_ ? 1 : 0) + (woken_ ? 2 : 0) + (waits_for_credits_ ? 4 : 0));
}

void Stream::reset() {
  plan_ = {};
  issued_ = 0;
  offered_ = 0;
  next_ = 0;
  segment_start_ = 0;
  fresh_segment_ = true;
  woken_ = false;
  waits_for_credits_ = false;
}

std::uint64_t Stream::Packed::pack() const {
  auto packed = static_cast<std::uint64_t>(bytes);
  packed = packed << 8U | static_cast<std::uint64_t>(offset);
  packed = packed << 3U | (hit ? 1U : 0U) | (translated ? 2U : 0U) | (last ? 4U : 0U);
  return packed << 3U | kind;
}

Stream::Packed Stream::Packed::unpack(std::uint64_t payload) {
  return {.kind = static_cast<Kind>(payload & 7U),
          .bytes = static_cast<std::int64_t>(payload >> 14U),
          .hit = (payload >> 3U & 1U) != 0,
          .translated = (payload >> 4U & 1U) != 0,
          .last = (payload >> 5U & 1U) != 0,
          .offset = static_cast<std::int64_t>(payload >> 6U & 255U)};
}

}  // namespace isthmus::card

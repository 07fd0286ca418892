#include <algorithm>

#include "isthmus/card/stream.hpp"

namespace isthmus::card {

void Reader::limits(std::int64_t tags, Time card_latency, const Port& sink, Taker* follower,
                    bool follows, const Port& path) {
  follow(follows);
  all_tags_ = tags;
  tags_ = tags;
  card_latency_ = card_latency;
  sink_ = sink;
  path_ = path;
  follower_ = follower;
}

void Reader::proceed() {
  const LinkParameters& link = crossing_->link.parameters();
  while (active() && tags_ > 0 && paced()) {
    const std::int64_t bytes = next_bytes(link.max_read_request_bytes);
    if (!may_issue(bytes)) {
      return;
    }
    const Time granted = crossing_->nonposted_headers.when(now(), 1);
    if (granted == Credits::unknown) {
      waits_for_credits_ = true;
      return;
    }
    if (granted > now()) {
      wake_at(granted);
      return;
    }
    crossing_->nonposted_headers.take(1);
    --tags_;
    const Access wanted = access(bytes);
    schedule(crossing_->link.send(now(), Way::up, Packet::read_request, 0),
             {.kind = arrive,
              .bytes = bytes,
              .hit = wanted.hit,
              .translated = wanted.translated,
              .offset = address() % link.read_completion_boundary_bytes});
    issued(bytes);
  }
}

void Reader::handle(std::uint64_t payload) {
  Packed packet = Packed::unpack(payload);
  Link& link = crossing_->link;
  switch (packet.kind) {
    case wake:
      awake();
      proceed();
      break;
    case arrive:
      crossing_->nonposted_headers.give_back(now() + link.credit_return() + link.latency(), 1);
      packet.kind = ready;
      schedule(crossing_->host.read(now(), {packet.bytes, packet.hit, packet.translated}), packet);
      crossing_->credits_came();
      break;
    case ready: {
      Time usable = 0;
      split_completions(link.parameters(), static_cast<std::uint64_t>(packet.offset), packet.bytes,
                        [&](std::int64_t part) {
                          usable = link.send(now(), Way::down, Packet::completion, part);
                        });
      schedule(usable + card_latency_, {.kind = deliver, .bytes = packet.bytes});
      break;
    }
    case deliver:
      arrived(packet.bytes);
      break;
    default:
      ++tags_;
      proceed();
  }
}

void Reader::arrived(std::int64_t bytes) {
  Time accepted = sink_.server->claim(now(), sink_.byte.of(bytes));
  Time through = sink_.server->free;
  if (path_.server != nullptr) {
    accepted = std::max(accepted, path_.server->claim(now(), path_.byte.of(bytes)));
    through = std::max(through, path_.server->free);
  }
  arrived_ += bytes;
  if (arrived_ == plan_.bytes) {
    complete_at(through + sink_.latency);
  }
  if (follower_ != nullptr) {
    follower_->offer(bytes);
  }
  if (accepted > now()) {
    schedule(accepted, {.kind = release, .bytes = 0});
  } else {
    ++tags_;
    proceed();
  }
}

void Reader::save(State& state) const {
  Stream::save(state);
  state.push_back(tags_);
}

void Reader::skip(std::int64_t bytes) {
  Stream::skip(bytes);
  arrived_ += bytes;
}

void Reader::reset() {
  Stream::reset();
  tags_ = all_tags_;
  arrived_ = 0;
}

}  // namespace isthmus::card

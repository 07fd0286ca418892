#include <algorithm>
#include <cstring>
#include <utility>

#include "isthmus/card/axi.hpp"

namespace isthmus::card {

namespace {

Contents contents_of(std::uint64_t base, std::span<std::byte> bytes) {
  const auto find = [base, bytes](std::uint64_t address, std::size_t size) {
    const std::uint64_t offset = address - base;
    const bool inside = address >= base && size <= bytes.size() && offset <= bytes.size() - size;
    return inside ? bytes.data() + offset : nullptr;
  };
  return {
      .read =
          [find](std::uint64_t address, std::span<std::byte> to) {
            const std::byte* from = find(address, to.size());
            if (from != nullptr) {
              std::memcpy(to.data(), from, to.size());
            }
            return from != nullptr;
          },
      .write =
          [find](std::uint64_t address, std::span<const std::byte> from, std::uint64_t strobes) {
            std::byte* to = find(address, from.size());
            if (to == nullptr) {
              return false;
            }
            if (strobes == ~std::uint64_t{0}) {
              std::memcpy(to, from.data(), from.size());
              return true;
            }
            for (std::size_t n = 0; n < from.size(); ++n) {
              to[n] = ((strobes >> n) & 1U) != 0 ? from[n] : to[n];
            }
            return true;
          }};
}

}  // namespace

LinkedMemory::LinkedMemory(std::uint64_t base, std::span<std::byte> bytes,
                           LinkedMemoryOptions options)
    : LinkedMemory(contents_of(base, bytes), options) {}

LinkedMemory::LinkedMemory(Contents contents, LinkedMemoryOptions options)
    : contents_(std::move(contents)), options_(options), write_link_(options.beat_time) {}

bool LinkedMemory::read(const Burst& burst, Time now) {
  if (reads_.size() >= options_.reads_in_flight) {
    return false;
  }
  const Time begin = std::max(now + options_.read_latency, read_link_free_);
  read_link_free_ = begin + options_.beat_time * burst.beats;
  reads_.push_back({burst, begin});
  return true;
}

std::optional<Response> LinkedMemory::read_beat(std::span<std::byte> data, Time now) {
  if (reads_.empty()) {
    return std::nullopt;
  }
  Pending& oldest = reads_.front();
  if (now < oldest.ready + options_.beat_time * (oldest.moved + 1)) {
    return std::nullopt;
  }
  const std::uint64_t address = oldest.burst.address + oldest.moved * data.size();
  const bool there = contents_.read(address, data);
  if (++oldest.moved == oldest.burst.beats) {
    reads_.pop_front();
  }
  return there ? Response::okay : Response::decode_error;
}

bool LinkedMemory::write(const Burst& burst, Time /*now*/) {
  if (writes_.size() + responses_.size() >= options_.writes_in_flight) {
    return false;
  }
  writes_.push_back({burst});
  return true;
}

bool LinkedMemory::write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                              Time now) {
  if (writes_.empty() || !write_link_.ready(now)) {
    return false;
  }
  const Time crossed = write_link_.send(now) + options_.beat_time;
  Pending& oldest = writes_.front();
  if (!contents_.write(oldest.burst.address + oldest.moved * data.size(), data, strobes)) {
    oldest.response = Response::decode_error;
  }
  ++oldest.moved;
  if (last) {
    oldest.response = oldest.moved == oldest.burst.beats ? oldest.response : Response::slave_error;
    oldest.ready = crossed + options_.write_latency;
    responses_.push_back(oldest);
    writes_.pop_front();
  }
  return true;
}

std::optional<Response> LinkedMemory::write_response(Time now) {
  if (responses_.empty() || now < responses_.front().ready) {
    return std::nullopt;
  }
  const Response response = responses_.front().response;
  responses_.pop_front();
  return response;
}

}  // namespace isthmus::card

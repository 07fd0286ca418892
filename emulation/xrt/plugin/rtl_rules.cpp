#include "rtl_rules.hpp"

#include <algorithm>
#include <sstream>

namespace isthmus::card::plugin {
namespace {

constexpr std::uint64_t boundary = 4096;

}  // namespace

void Handshake::note() {
  const bool waited = waits_;
  if (waited) {
    check();
  }
  waits_ = offered_.valid.pin.get() != 0 && offered_.ready.pin.get() == 0;
  if (waits_ && !waited) {
    before_.clear();
    for (const NamedPin& one : offered_.payload) {
      before_.emplace_back(one.pin.bytes().begin(), one.pin.bytes().end());
    }
  }
}

void Handshake::check() const {
  const std::string until = offered_.ready.name + ", which breaks " + offered_.rules;
  if (offered_.valid.pin.get() == 0) {
    warn_("lowers " + offered_.valid.name + " before it was answered by " + until, "");
    return;
  }
  for (std::size_t n = 0; n < before_.size(); ++n) {
    if (!std::ranges::equal(before_[n], offered_.payload[n].pin.bytes())) {
      warn_("changes " + offered_.payload[n].name + " while " + offered_.valid.name +
                " waits for " + until,
            "");
    }
  }
}

void WatchedMemory::check(const Burst& burst, const char* does) const {
  const std::uint64_t first = burst.address - burst.address % burst.beat_bytes;
  const std::uint64_t last = first + burst.bytes() - 1;
  if (first / boundary != last / boundary) {
    std::ostringstream where;
    where << ": " << burst.bytes() << " bytes at 0x" << std::hex << burst.address;
    warn_(std::string(does) + " by " + master_ +
              " in a burst that crosses a boundary of 4 KiB, which breaks AXI4",
          where.str());
  }
}

bool WatchedMemory::read(const Burst& burst, Time now) {
  const bool taken = LinkedMemory::read(burst, now);
  if (taken) {
    check(burst, "reads");
  }
  return taken;
}

bool WatchedMemory::write(const Burst& burst, Time now) {
  const bool taken = LinkedMemory::write(burst, now);
  if (taken) {
    check(burst, "writes");
    beats_.push_back(burst.beats);
  }
  return taken;
}

bool WatchedMemory::write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                               Time now) {
  if (!LinkedMemory::write_beat(data, strobes, last, now)) {
    return false;
  }
  ++beat_;
  if (last != (beat_ == beats_.front())) {
    warn_(
        "sets " + master_ + "'s wlast in another beat than the last of a burst, which breaks AXI4",
        ": beat " + std::to_string(beat_) + " of " + std::to_string(beats_.front()) +
            (last ? " has it" : " lacks it"));
  }
  if (last) {
    beats_.pop_front();
    beat_ = 0;
  }
  return true;
}

}  // namespace isthmus::card::plugin

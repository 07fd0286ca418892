#include "rtl_rules.hpp"

#include <algorithm>
#include <sstream>

namespace isthmus::card::plugin {
namespace {

constexpr std::uint64_t boundary = 4096;

}  // namespace

Handshake::Handshake(Offered offered, Warn warn)
    : offered_(std::move(offered)), warn_(std::move(warn)) {
  std::size_t bytes = 0;
  for (const NamedPin& one : offered_.payload) {
    bytes += one.pin.size();
  }
  before_.resize(bytes);
}

void Handshake::keep() {
  auto to = before_.begin();
  for (const NamedPin& one : offered_.payload) {
    to = std::ranges::copy(one.pin, to).out;
  }
}

void Handshake::check() const {
  const auto tell = [this](const std::string& does) {
    warn_(does + offered_.ready.name + ", which breaks " + offered_.rules, "");
  };
  if (offered_.valid.pin.get() == 0) {
    tell(std::string("lowers ") + offered_.valid.name + " before it was answered by ");
    return;
  }
  auto before = before_.begin();
  for (const NamedPin& one : offered_.payload) {
    if (!std::equal(one.pin.begin(), one.pin.end(), before)) {
      tell(std::string("changes ") + one.name + " while " + offered_.valid.name + " waits for ");
    }
    before += static_cast<std::ptrdiff_t>(one.pin.size());
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

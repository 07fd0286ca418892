#include "rtl_stream.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::card::plugin {
namespace {

std::size_t bytes_of(std::size_t bits) { return (bits + 7) / 8; }

/// Returns the size in bytes of an ap_uint with this many bits.
std::size_t bytes_in_memory(std::size_t bits) {
  return bits > 32 ? (bits + 63) / 64 * 8 : std::bit_ceil(bytes_of(bits));
}

void set_ones(std::byte* at, std::size_t bits) {
  for (std::size_t n = 0; n < bits; n += 8) {
    at[n / 8] = std::byte{0xFF} >> (bits - n < 8 ? 8 - (bits - n) : 0);
  }
}

void get(const Bus& bus, std::byte* to) { std::copy_n(bus.pin.begin(), bytes_of(bus.bits), to); }

/// Sets a signal; Verilator requires zeros in the bits beyond its width.
void set(const Bus& bus, const std::byte* from) {
  std::byte* to = bus.pin.begin();
  std::copy_n(from, bytes_of(bus.bits), to);
  if (const std::uint32_t rest = bus.bits % 8; rest > 0) {
    to[bus.bits / 8] &= std::byte{0xFF} >> (8 - rest);
  }
}

}  // namespace

AxisStream::AxisStream(const AxisPins& pins, Reach reach)
    : pins_(pins), reach_(std::move(reach)), data_(bytes_of(pins.tdata.bits)) {
  std::size_t end = 0;
  std::size_t there = 0;
  for (std::size_t n = 0; n < pins.sideband.size(); ++n) {
    const Bus& bus = pins.sideband[n];
    const bool for_each_byte = n == 1 || n == 2;  // tkeep and tstrb have a bit for each byte
    const std::size_t bits = for_each_byte ? data_.size() : std::max(bus.bits, 1U);
    parts_.push_back({.bus = bus, .offset = end, .ones = for_each_byte ? bits : 0});
    end += bytes_in_memory(bits);
    there = bus.bits > 0 ? end : there;
  }
  std::erase_if(parts_, [there](const Part& part) { return part.offset >= there; });
  sideband_.resize(there);
  reset_sideband();
  offer(false);
}

void AxisStream::show() {
  if (!ready_ && reach(ISTHMUS_STREAM_THIS_CLOCK) && pins_.reads) {
    set(pins_.tdata, data_.data());
    for (const Part& part : parts_) {
      set(part.bus, &sideband_[part.offset]);
    }
  }
  offer(ready_);
}

void AxisStream::note() {
  if (pins_.tvalid.get() == 0 || pins_.tready.get() == 0) {
    return;
  }
  if (!pins_.reads) {
    get(pins_.tdata, data_.data());
    for (const Part& part : parts_) {
      if (part.bus.bits > 0) {
        get(part.bus, &sideband_[part.offset]);
      }
    }
  }
  reach(ISTHMUS_STREAM_TRY);
  ready_ = false;
}

bool AxisStream::reach(int wait) {
  if (pins_.reads) {
    reset_sideband();
  }
  ready_ = reach_(pins_,
                  {.data = data_.data(),
                   .data_bytes = data_.size(),
                   .sideband = sideband_.data(),
                   .sideband_bytes = sideband_.size()},
                  wait);
  return ready_;
}

void AxisStream::offer(bool is_ready) {
  (pins_.reads ? pins_.tvalid : pins_.tready).set(is_ready ? 1 : 0);
}

void AxisStream::reset_sideband() {
  std::ranges::fill(sideband_, std::byte{0});
  for (const Part& part : parts_) {
    set_ones(&sideband_[part.offset], part.ones);
  }
}

}  // namespace isthmus::card::plugin

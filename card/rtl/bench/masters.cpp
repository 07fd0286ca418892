#include "masters.hpp"

#include <bit>
#include <cstring>

namespace isthmus::card {

static_assert(std::endian::native == std::endian::little);  // pins are little-endian

namespace {

/// Returns the burst that these pins offer. A kernel without a length sends single beats, a kernel
/// without a size beats as wide as its bus.
Burst burst_of(const Pin& address, const Pin& length, const Pin& size, const Pin& id,
               const Pin& data) {
  const auto wide = static_cast<std::uint32_t>(data.size());
  return {.address = address.get(),
          .beats = static_cast<std::uint32_t>(length.get()) + 1,
          .beat_bytes = size.is_there() ? std::uint32_t{1} << size.get() : wide,
          .id = static_cast<std::uint32_t>(id.get())};
}

}  // namespace

void ReadMaster::show(Time now) {
  if (port_ == nullptr) {
    return;
  }
  if (taken_) {
    pins_.rvalid.set(0);
  }
  if (pins_.rvalid.get() == 0) {
    const auto response = port_->read_beat(pins_.rdata, now);
    if (response) {
      const Burst& burst = bursts_.front();
      pins_.rvalid.set(1);
      pins_.rresp.set(static_cast<std::uint64_t>(*response));
      pins_.rid.set(burst.id);
      const bool last = ++beats_held_ == burst.beats;
      pins_.rlast.set(last ? 1 : 0);
      if (last) {
        bursts_.pop_front();
        beats_held_ = 0;
      }
    }
  }
}

void ReadMaster::take(Time now) {
  if (port_ == nullptr) {
    return;
  }
  bool taken = false;
  if (pins_.arvalid.get() != 0) {
    const Burst burst = burst_of(pins_.araddr, pins_.arlen, pins_.arsize, pins_.arid, pins_.rdata);
    taken = port_->read(burst, now);
    if (taken) {
      bursts_.push_back(burst);
    }
  }
  pins_.arready.set(taken ? 1 : 0);
}

void ReadMaster::note() { taken_ = pins_.rvalid.get() != 0 && pins_.rready.get() != 0; }

void WriteMaster::show(Time now) {
  if (port_ == nullptr) {
    return;
  }
  if (taken_) {
    pins_.bvalid.set(0);
  }
  if (pins_.bvalid.get() == 0) {
    const auto response = port_->write_response(now);
    if (response) {
      pins_.bvalid.set(1);
      pins_.bresp.set(static_cast<std::uint64_t>(*response));
      pins_.bid.set(ids_.front());
      ids_.pop_front();
    }
  }
}

void WriteMaster::take(Time now) {
  if (port_ == nullptr) {
    return;
  }
  bool taken = false;
  if (pins_.awvalid.get() != 0) {
    const Burst burst = burst_of(pins_.awaddr, pins_.awlen, pins_.awsize, pins_.awid, pins_.wdata);
    taken = port_->write(burst, now);
    if (taken) {
      ids_.push_back(burst.id);
    }
  }
  pins_.awready.set(taken ? 1 : 0);
  taken = pins_.wvalid.get() != 0 &&
          port_->write_beat(pins_.wdata, pins_.wstrb.get(),
                            !pins_.wlast.is_there() || pins_.wlast.get() != 0, now);
  pins_.wready.set(taken ? 1 : 0);
}

void WriteMaster::note() { taken_ = pins_.bvalid.get() != 0 && pins_.bready.get() != 0; }

}  // namespace isthmus::card

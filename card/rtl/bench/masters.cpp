#include "masters.hpp"

#include <cstring>

namespace isthmus::card {

namespace {

Burst burst_of(std::uint64_t address, std::uint8_t length, std::uint8_t size, std::uint8_t id) {
  return {address, std::uint32_t{length} + 1, std::uint32_t{1} << size, id};
}

}  // namespace

void ReadMaster::before_edge(Time now) {
  if (port_ == nullptr) {
    return;
  }
  *pins_.arready = 0;
  if (*pins_.arvalid != 0) {
    const Burst burst = burst_of(*pins_.araddr, *pins_.arlen, *pins_.arsize, *pins_.arid);
    if (port_->read(burst, now)) {
      *pins_.arready = 1;
      bursts_.push_back(burst.beats);
    }
  }
  if (taken_) {
    *pins_.rvalid = 0;
  }
  if (*pins_.rvalid == 0) {
    const auto response = port_->read_beat({pins_.rdata, axi_bytes}, now);
    if (response) {
      *pins_.rvalid = 1;
      *pins_.rresp = static_cast<std::uint8_t>(*response);
      const bool last = ++beats_held_ == bursts_.front();
      *pins_.rlast = last ? 1 : 0;
      if (last) {
        bursts_.pop_front();
        beats_held_ = 0;
      }
    }
  }
  taken_ = *pins_.rvalid != 0 && *pins_.rready != 0;
}

void WriteMaster::before_edge(Time now) {
  if (port_ == nullptr) {
    return;
  }
  *pins_.awready = 0;
  if (*pins_.awvalid != 0) {
    const Burst burst = burst_of(*pins_.awaddr, *pins_.awlen, *pins_.awsize, *pins_.awid);
    *pins_.awready = port_->write(burst, now) ? 1 : 0;
  }
  *pins_.wready = 0;
  if (*pins_.wvalid != 0) {
    const bool taken =
        port_->write_beat({pins_.wdata, axi_bytes}, *pins_.wstrb, *pins_.wlast != 0, now);
    *pins_.wready = taken ? 1 : 0;
  }
  if (taken_) {
    *pins_.bvalid = 0;
  }
  if (*pins_.bvalid == 0) {
    const auto response = port_->write_response(now);
    if (response) {
      *pins_.bvalid = 1;
      *pins_.bresp = static_cast<std::uint8_t>(*response);
    }
  }
  taken_ = *pins_.bvalid != 0 && *pins_.bready != 0;
}

void StreamSender::before_edge(Time now) {
  *pins_.tready = 0;
  if (port_ != nullptr && *pins_.tvalid != 0) {
    StreamBeat beat;
    std::memcpy(beat.data.data(), pins_.tdata, beat.data.size());
    beat.keep = *pins_.tkeep;
    beat.last = *pins_.tlast != 0;
    *pins_.tready = port_->put(beat, now) ? 1 : 0;
  }
}

void StreamReceiver::before_edge(Time now) {
  if (taken_) {
    *pins_.tvalid = 0;
  }
  if (port_ != nullptr && *pins_.tvalid == 0) {
    if (const auto beat = port_->get(now)) {
      std::memcpy(pins_.tdata, beat->data.data(), beat->data.size());
      *pins_.tkeep = beat->keep;
      *pins_.tlast = beat->last ? 1 : 0;
      *pins_.tvalid = 1;
    }
  }
  taken_ = *pins_.tvalid != 0 && *pins_.tready != 0;
}

}  // namespace isthmus::card

// Reads and writes pins of a kernel that Verilator compiled, whatever their widths. This file is
// compiled with each kernel of a user, in C++17, so it includes little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace isthmus::card {

/// A pin, a bus, or a range of a bus's bytes. Verilator stores a bus in 1, 2, 4 or 8 bytes, or in
/// 4-byte words. A pin that the kernel lacks reads as 0 and ignores writes.
class Pin {
 public:
  Pin() = default;
  template <class Kept>
  explicit Pin(Kept& kept) : at_(reinterpret_cast<std::byte*>(&kept)), bytes_(sizeof(kept)) {}

  [[nodiscard]] bool is_there() const { return at_ != nullptr; }
  /// Returns the low 64 bits.
  [[nodiscard]] std::uint64_t get() const {
    if (bytes_ == 1) {  // most pins
      return static_cast<std::uint64_t>(*at_);
    }
    std::uint64_t value = 0;
    if (bytes_ > 0) {
      std::memcpy(&value, at_, low_bytes());
    }
    return value;
  }
  void set(std::uint64_t value) const {
    if (bytes_ == 1) {
      *at_ = static_cast<std::byte>(value);
    } else if (bytes_ > 0) {
      std::memcpy(at_, &value, low_bytes());
    }
  }
  [[nodiscard]] std::byte* begin() const { return at_; }
  [[nodiscard]] std::byte* end() const { return at_ + bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  [[nodiscard]] std::size_t low_bytes() const {
    return bytes_ < sizeof(std::uint64_t) ? bytes_ : sizeof(std::uint64_t);
  }

  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

struct ControlPins {
  Pin awvalid, awready, awaddr, wvalid, wready, wdata, wstrb, bvalid, bready;
  Pin arvalid, arready, araddr, rvalid, rready, rdata;
};

struct ReadPins {
  Pin arvalid, arready, araddr, arlen, arsize, arid, rvalid, rready, rdata, rresp, rlast, rid;
};

struct WritePins {
  Pin awvalid, awready, awaddr, awlen, awsize, awid, wvalid, wready, wdata, wstrb, wlast;
  Pin bvalid, bready, bresp, bid;
};

}  // namespace isthmus::card

// Pins are members of a class that Verilator generated: only macros can pass their names.
#define ISTHMUS_CONTROL_PIN(m, pin) .pin = Pin((m).s_axi_control_##pin)
#define ISTHMUS_CONTROL_PINS(m)                                         \
  {                                                                     \
      ISTHMUS_CONTROL_PIN(m, awvalid), ISTHMUS_CONTROL_PIN(m, awready), \
      ISTHMUS_CONTROL_PIN(m, awaddr),  ISTHMUS_CONTROL_PIN(m, wvalid),  \
      ISTHMUS_CONTROL_PIN(m, wready),  ISTHMUS_CONTROL_PIN(m, wdata),   \
      ISTHMUS_CONTROL_PIN(m, wstrb),   ISTHMUS_CONTROL_PIN(m, bvalid),  \
      ISTHMUS_CONTROL_PIN(m, bready),  ISTHMUS_CONTROL_PIN(m, arvalid), \
      ISTHMUS_CONTROL_PIN(m, arready), ISTHMUS_CONTROL_PIN(m, araddr),  \
      ISTHMUS_CONTROL_PIN(m, rvalid),  ISTHMUS_CONTROL_PIN(m, rready),  \
      ISTHMUS_CONTROL_PIN(m, rdata)}
#define ISTHMUS_MASTER_PIN(m, name, pin) .pin = Pin((m).m_axi_##name##_##pin)
#define ISTHMUS_READ_PINS(m, name)                                             \
  {ISTHMUS_MASTER_PIN(m, name, arvalid), ISTHMUS_MASTER_PIN(m, name, arready), \
   ISTHMUS_MASTER_PIN(m, name, araddr),  ISTHMUS_MASTER_PIN(m, name, arlen),   \
   ISTHMUS_MASTER_PIN(m, name, arsize),  ISTHMUS_MASTER_PIN(m, name, arid),    \
   ISTHMUS_MASTER_PIN(m, name, rvalid),  ISTHMUS_MASTER_PIN(m, name, rready),  \
   ISTHMUS_MASTER_PIN(m, name, rdata),   ISTHMUS_MASTER_PIN(m, name, rresp),   \
   ISTHMUS_MASTER_PIN(m, name, rlast),   ISTHMUS_MASTER_PIN(m, name, rid)}
#define ISTHMUS_WRITE_PINS(m, name)                                            \
  {ISTHMUS_MASTER_PIN(m, name, awvalid), ISTHMUS_MASTER_PIN(m, name, awready), \
   ISTHMUS_MASTER_PIN(m, name, awaddr),  ISTHMUS_MASTER_PIN(m, name, awlen),   \
   ISTHMUS_MASTER_PIN(m, name, awsize),  ISTHMUS_MASTER_PIN(m, name, awid),    \
   ISTHMUS_MASTER_PIN(m, name, wvalid),  ISTHMUS_MASTER_PIN(m, name, wready),  \
   ISTHMUS_MASTER_PIN(m, name, wdata),   ISTHMUS_MASTER_PIN(m, name, wstrb),   \
   ISTHMUS_MASTER_PIN(m, name, wlast),   ISTHMUS_MASTER_PIN(m, name, bvalid),  \
   ISTHMUS_MASTER_PIN(m, name, bready),  ISTHMUS_MASTER_PIN(m, name, bresp),   \
   ISTHMUS_MASTER_PIN(m, name, bid)}

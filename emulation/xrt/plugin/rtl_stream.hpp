// Connects a stream of a kernel in Verilog: signals at each clock on one side, the card's words on
// the other.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "isthmus/card/kernel_plugin.h"
#include "masters.hpp"
#include "rtl_module.hpp"

namespace isthmus::card::plugin {

/// Drives a stream's signals at each clock, and moves a word when both sides are ready.
class AxisStream final : public PinServer {
 public:
  /// Reads or writes a word on the card; returns whether it did.
  using Reach = std::function<bool(const AxisPins&, const isthmus_stream_word&, int wait)>;

  AxisStream(const AxisPins& pins, Reach reach);
  /// Withdraws what it offers, until the next run.
  ~AxisStream() override { offer(false); }

  void show() override;
  void note() override;
  /// Returns whether the module waits for data or for room.
  [[nodiscard]] bool waits() const { return !ready_ && (pins_.reads || offers()); }
  /// Returns whether the module signals that it wants to move a word; some modules wait until they
  /// see one.
  [[nodiscard]] bool asks() const { return pins_.tvalid.get() != 0 || pins_.tready.get() != 0; }
  /// Returns whether the module offers a word.
  [[nodiscard]] bool offers() const { return !pins_.reads && pins_.tvalid.get() != 0; }
  [[nodiscard]] const AxisPins& pins() const { return pins_; }

 private:
  /// A sideband signal, in the layout of ap_axi_sdata.h.
  struct Part {
    Bus bus;
    std::size_t offset = 0;
    std::size_t ones = 0;  ///< tkeep and tstrb if the source lacks them
  };

  bool reach(int wait);
  void offer(bool is_ready);
  void reset_sideband();

  AxisPins pins_;
  Reach reach_;
  bool ready_ = false;
  std::vector<Part> parts_;
  std::vector<std::byte> data_;
  std::vector<std::byte> sideband_;
};

}  // namespace isthmus::card::plugin

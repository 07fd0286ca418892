// A stream of a kernel in Verilog: its signals at each clock, and its words in the card's form.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "isthmus/card/kernel_plugin.h"
#include "masters.hpp"
#include "rtl_module.hpp"

namespace isthmus::card::plugin {

/// Drives the signals at each clock, and moves a word if both sides are ready.
class AxisStream final : public PinServer {
 public:
  /// Reads or writes a word on the card; returns whether that was possible.
  using Reach = std::function<bool(const AxisPins&, const isthmus_stream_word&, int wait)>;

  AxisStream(const AxisPins& pins, Reach reach);
  /// Offers nothing until the next run.
  ~AxisStream() override { offer(false); }

  void show() override;
  void note() override;
  /// Whether the module waits for data or room.
  [[nodiscard]] bool waits() const { return !ready_ && (pins_.reads || offers()); }
  /// Whether the module signals that it wants a word; some modules do so only when they see a word.
  [[nodiscard]] bool asks() const { return pins_.tvalid.get() != 0 || pins_.tready.get() != 0; }
  /// Whether the module has a word to write.
  [[nodiscard]] bool offers() const { return !pins_.reads && pins_.tvalid.get() != 0; }
  [[nodiscard]] const AxisPins& pins() const { return pins_; }

 private:
  /// A signal of the sideband, in the layout of ap_axi_sdata.h.
  struct Part {
    Bus bus;
    std::size_t offset = 0;
    std::size_t ones = 0;  ///< value of tkeep and tstrb if the source has none
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

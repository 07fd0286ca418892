// A stream of a verilated kernel: ready and valid at each clock, and its words as the card has
// them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "isthmus/card/kernel_plugin.h"
#include "masters.hpp"
#include "rtl_module.hpp"

namespace isthmus::card::plugin {

/// Shows what is there at a clock, data or room, and moves a word where both sides are ready.
class AxisStream final : public PinServer {
 public:
  /// Reads or writes the word on the card; whether that was possible.
  using Reach = std::function<bool(const AxisPins&, const isthmus_stream_word&, int wait)>;

  AxisStream(const AxisPins& pins, Reach reach);
  /// Until the next run nothing is offered.
  ~AxisStream() override { offer(false); }

  void show() override;
  void note() override;
  /// Whether the module wants what is not there.
  [[nodiscard]] bool waits() const { return !ready_ && (pins_.reads || offers()); }
  /// Whether it says so: it may also be ready only once it is shown a word.
  [[nodiscard]] bool asks() const { return pins_.tvalid.get() != 0 || pins_.tready.get() != 0; }
  /// Whether the module has a word to write.
  [[nodiscard]] bool offers() const { return !pins_.reads && pins_.tvalid.get() != 0; }
  [[nodiscard]] const AxisPins& pins() const { return pins_; }

 private:
  /// A part of the sideband, as ap_axi_sdata.h lays it out.
  struct Part {
    Bus bus;
    std::size_t offset = 0;
    std::size_t ones = 0;  ///< its bits without a source: all bytes count
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

// A stream of a verilated kernel: ready and valid at each clock, and its words as the card has
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "isthmus/card/kernel_plugin.h"
#include "masters.hpp"

namespace isthmus::card::plugin {

/// Pins with their number; one that the module lacks has none.
struct Bus {
  Pin pin;
  std::uint32_t bits = 0;
};

struct AxisPins {
  std::uint32_t argument = 0;  ///< of the kernel, by number
  bool reads = false;          ///< the kernel reads, else it writes
  Pin tvalid, tready;
  Bus tdata;
  std::array<Bus, 6> sideband;  ///< tlast, tkeep, tstrb, tuser, tid, tdest
};

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
  /// Shows the module no word until the next run.
  void hide() { offer(ready_ = false); }
  /// Words that moved in this run.
  [[nodiscard]] std::uint64_t words() const { return words_; }
  /// Whether the module wants what is not there.
  [[nodiscard]] bool waits() const { return !ready_ && (pins_.reads || offers()); }
  /// Whether the module has a word to write.
  [[nodiscard]] bool offers() const { return !pins_.reads && pins_.tvalid.get() != 0; }
  [[nodiscard]] const AxisPins& pins() const { return pins_; }

 private:
  /// A part of the sideband, as ap_axi_sdata.h lays it out.
  struct Part {
    Bus bus;
    std::size_t offset = 0;
    std::size_t ones = 0;  ///< its bits where nobody says otherwise: all bytes count
  };

  bool reach(int wait);
  void offer(bool is_ready);
  void reset_sideband();

  AxisPins pins_;
  Reach reach_;
  bool ready_ = false;
  std::uint64_t words_ = 0;
  std::vector<Part> parts_;
  std::vector<std::byte> data_;
  std::vector<std::byte> sideband_;
};

}  // namespace isthmus::card::plugin

// Connects the AXI pins of a kernel to memory ports.
//
// Each clock has three steps before its edge. `show` sets the pins that answer the kernel, `take`
// takes or refuses what it offers, `note` records what it took. Between these steps a kernel may
// settle whose outputs depend on its inputs within a clock; the kernels of card/rtl need not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "isthmus/card/axi.hpp"
#include "pins.hpp"

namespace isthmus::card {

inline constexpr std::size_t axi_bytes = 64;  ///< width of the masters of the kernels in card/rtl

class ReadMaster {
 public:
  explicit ReadMaster(ReadPins pins) : pins_(pins) {}
  void connect(MemoryPort& port) { port_ = &port; }
  void show(Time now);
  void take(Time now);
  void note();

 private:
  ReadPins pins_;
  MemoryPort* port_ = nullptr;
  std::uint32_t beats_held_ = 0;  ///< beats of the current burst that have been shown
  std::deque<Burst> bursts_;
  bool taken_ = false;  ///< whether the kernel took the shown beat at the previous edge
};

class WriteMaster {
 public:
  explicit WriteMaster(WritePins pins) : pins_(pins) {}
  void connect(MemoryPort& port) { port_ = &port; }
  void show(Time now);
  void take(Time now);
  void note();

 private:
  WritePins pins_;
  MemoryPort* port_ = nullptr;
  std::deque<std::uint32_t> ids_;  ///< IDs of bursts without a response
  bool taken_ = false;
};

/// Serves other pins than AXI's, in the same steps as the masters.
class PinServer {
 public:
  PinServer() = default;
  PinServer(const PinServer&) = delete;
  PinServer& operator=(const PinServer&) = delete;
  virtual ~PinServer() = default;

  virtual void show() = 0;
  virtual void note() = 0;
};

}  // namespace isthmus::card

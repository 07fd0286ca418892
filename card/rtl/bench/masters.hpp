// What lies between a kernel's pins and the ports they are connected to.
//
// Each clock has three steps before its edge: what the ports answer is shown, what the kernel
// offers is taken or refused, and what the kernel took is noted. Between them a kernel whose
// outputs depend on its inputs within a clock may settle; those of card/rtl need not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "isthmus/card/axi.hpp"
#include "pins.hpp"

namespace isthmus::card {

inline constexpr std::size_t axi_bytes = 64;  ///< width of the masters of card/rtl's kernels

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
  std::uint32_t beats_held_ = 0;  ///< of the burst whose beats come now
  std::deque<Burst> bursts_;
  bool taken_ = false;  ///< the edge before took what RVALID offered
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
  std::deque<std::uint32_t> ids_;  ///< of bursts without a response
  bool taken_ = false;
};

/// Serves pins of other kinds; masters and settling are as above.
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

// What lies between a kernel's pins and the ports they are connected to.
//
// No output pin depends on an input pin within a clock, so before_edge can ask the port for the
// READYs of exactly those VALIDs that are there, and after_edge sees what the edge took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "isthmus/card/axi.hpp"
#include "isthmus/card/axi_stream.hpp"
#include "pins.hpp"

namespace isthmus::card {

inline constexpr std::size_t axi_bytes = 64;  ///< width of the kernels' AXI masters

class ReadMaster {
 public:
  explicit ReadMaster(ReadPins pins) : pins_(pins) {}
  void connect(MemoryPort& port) { port_ = &port; }
  void before_edge(Time now);

 private:
  ReadPins pins_;
  MemoryPort* port_ = nullptr;
  std::uint32_t beats_held_ = 0;  ///< of the burst whose beats come now
  std::deque<std::uint32_t> bursts_;
  bool taken_ = false;  ///< the edge before took what RVALID offered
};

class WriteMaster {
 public:
  explicit WriteMaster(WritePins pins) : pins_(pins) {}
  void connect(MemoryPort& port) { port_ = &port; }
  void before_edge(Time now);

 private:
  WritePins pins_;
  MemoryPort* port_ = nullptr;
  bool taken_ = false;
};

class StreamSender {
 public:
  explicit StreamSender(StreamPins pins) : pins_(pins) {}
  void connect(StreamPort& port) { port_ = &port; }
  void before_edge(Time now);

 private:
  StreamPins pins_;
  StreamPort* port_ = nullptr;
};

class StreamReceiver {
 public:
  explicit StreamReceiver(StreamPins pins) : pins_(pins) {}
  void connect(StreamPort& port) { port_ = &port; }
  void before_edge(Time now);

 private:
  StreamPins pins_;
  StreamPort* port_ = nullptr;
  bool taken_ = false;
};

}  // namespace isthmus::card

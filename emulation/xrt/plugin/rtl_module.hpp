// A kernel in Verilog. `isthmus card kernel build` fills these structures from the module's ports
// and its description. Each kernel compiles this header, in C++17, so it includes little beside
// Verilator's headers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pins.hpp"

namespace isthmus::card::plugin {

/// Verilator's model of the module.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Updates the outputs for changed inputs within a clock.
  virtual void eval() = 0;
  /// Does a rising and a falling edge of the clock.
  virtual void edge() = 0;
};

/// Register of an argument.
struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

template <class Pins>
struct Master {
  const char* name;  ///< name of the port, such as m_axi_gmem
  Pins pins;
};

/// A signal and its bits; 0 bits: the module lacks the signal.
struct Bus {
  Pin pin;
  std::uint32_t bits = 0;
};

struct AxisPins {
  std::uint32_t argument = 0;  ///< number of the kernel's argument
  bool reads = false;          ///< whether the kernel reads the stream; else it writes
  Pin tvalid, tready;
  Bus tdata;
  std::array<Bus, 6> sideband;  ///< tlast, tkeep, tstrb, tuser, tid, tdest
};

struct NamedPin {
  const char* name;
  Pin pin;
};

/// A channel on which the module offers a payload: words of a stream, addresses or data.
struct Offered {
  const char* rules;  ///< name of the rules: AXI4 or AXI4-Stream
  NamedPin valid, ready;
  std::vector<NamedPin> payload;
};

struct VerilogModule {
  std::unique_ptr<Model> model;
  bool controlled = true;  ///< has registers; else it runs from its reset on
  bool chained = false;    ///< bit 4 (continue) is written when it is done
  std::vector<Register> registers;
  ControlPins control;
  Pin reset_n;
  std::vector<Master<ReadPins>> readers;
  std::vector<Master<WritePins>> writers;
  std::vector<AxisPins> streams;
  std::vector<Offered> offered;
  Pin state;  ///< all registers of the module
};

VerilogModule make_module();

}  // namespace isthmus::card::plugin

// Describes a kernel in Verilog: `isthmus card kernel build` fills these structures from the
// module's ports and the kernel's description. The header is compiled with each kernel, in C++17,
// so it includes little.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pins.hpp"

namespace isthmus::card::plugin {

/// The module as Verilator compiled it.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Updates the outputs after inputs have changed within a clock.
  virtual void eval() = 0;
  /// Makes a rising and a falling edge of the clock.
  virtual void edge() = 0;
};

/// The register of an argument.
struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

template <class Pins>
struct Master {
  const char* name;  ///< name of the port, such as m_axi_gmem
  Pins pins;
};

/// A signal with its width in bits; 0 bits: the module lacks it.
struct Bus {
  Pin pin;
  std::uint32_t bits = 0;
};

struct AxisPins {
  std::uint32_t argument = 0;  ///< number of the argument
  bool reads = false;          ///< whether the kernel reads the stream, or writes it
  Pin tvalid, tready;
  Bus tdata;
  std::array<Bus, 6> sideband;  ///< tlast, tkeep, tstrb, tuser, tid, tdest
};

struct NamedPin {
  const char* name;
  Pin pin;
};

/// A channel on which the module offers a payload: a stream, addresses or write data.
struct Offered {
  const char* rules;  ///< whose rules apply: AXI4 or AXI4-Stream
  NamedPin valid, ready;
  std::vector<NamedPin> payload;
};

struct VerilogModule {
  std::unique_ptr<Model> model;
  bool controlled = true;  ///< whether it has registers; else it runs from its reset on
  bool chained = false;    ///< whether bit 4 (continue) must be written at its end
  std::vector<Register> registers;
  ControlPins control;
  Pin reset_n;
  std::vector<Master<ReadPins>> readers;
  std::vector<Master<WritePins>> writers;
  std::vector<AxisPins> streams;
  std::vector<Offered> offered;
  Pin state;  ///< all of the module's registers
};

VerilogModule make_module();

}  // namespace isthmus::card::plugin

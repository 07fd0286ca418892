// A module that is a kernel, as `isthmus card kernel build` declares it from the module's ports and
// its description. Each kernel compiles this, in C++17: it includes little beside Verilator's own
// headers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pins.hpp"

namespace isthmus::card::plugin {

/// What Verilator made of the module.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Lets outputs follow inputs within a clock.
  virtual void eval() = 0;
  /// A clock.
  virtual void edge() = 0;
};

/// Where an argument lies.
struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

template <class Pins>
struct Master {
  const char* name;  ///< such as m_axi_gmem
  Pins pins;
};

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

struct NamedPin {
  const char* name;
  Pin pin;
};

/// A channel on which the module offers something: a stream that it writes, addresses or data.
struct Offered {
  const char* rules;  ///< whose they are
  NamedPin valid, ready;
  std::vector<NamedPin> payload;
};

struct VerilogModule {
  std::unique_ptr<Model> model;
  bool controlled = true;  ///< has registers; else it runs from its reset on
  bool chained = false;    ///< is told to continue when it is done
  std::vector<Register> registers;
  ControlPins control;
  Pin reset_n;
  std::vector<Master<ReadPins>> readers;
  std::vector<Master<WritePins>> writers;
  std::vector<AxisPins> streams;
  std::vector<Offered> offered;
  Pin state;  ///< all that it remembers
};

VerilogModule make_module();

}  // namespace isthmus::card::plugin

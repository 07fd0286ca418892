// Makes a kernel by its name: which class Verilator generated for it, and how its pins are named.
#include <array>

#include "Vbandwidth.h"
#include "Vbandwidth___024root.h"
#include "Vread_bandwidth.h"
#include "Vread_bandwidth___024root.h"
#include "Vwrite_bandwidth.h"
#include "Vwrite_bandwidth___024root.h"
#include "verilated_kernel.hpp"

namespace isthmus::card {

namespace {

struct ReadBandwidth final : VerilatedKernel<Vread_bandwidth> {
  explicit ReadBandwidth(Time period) : VerilatedKernel(period) {
    add_reader(ISTHMUS_READ_PINS(model_, input0));
    begin_with(Pin(model_.__SYM__interrupt));
  }
  void skip_sweeps(std::uint64_t sweeps) override {
    model_.rootp->read_bandwidth__DOT__sequencer__DOT__iterations_left -= sweeps;
  }
};

struct WriteBandwidth final : VerilatedKernel<Vwrite_bandwidth> {
  explicit WriteBandwidth(Time period) : VerilatedKernel(period) {
    add_writer(ISTHMUS_WRITE_PINS(model_, output0));
    begin_with(Pin(model_.__SYM__interrupt));
  }
  void skip_sweeps(std::uint64_t sweeps) override {
    model_.rootp->write_bandwidth__DOT__sequencer__DOT__iterations_left -= sweeps;
    model_.rootp->write_bandwidth__DOT__iteration += static_cast<std::uint16_t>(sweeps);
  }
};

struct Bandwidth final : VerilatedKernel<Vbandwidth> {
  explicit Bandwidth(Time period) : VerilatedKernel(period) {
    add_reader(ISTHMUS_READ_PINS(model_, input0));
    add_writer(ISTHMUS_WRITE_PINS(model_, output0));
    begin_with(Pin(model_.__SYM__interrupt));
  }
  void skip_sweeps(std::uint64_t sweeps) override {
    model_.rootp->bandwidth__DOT__sequencer__DOT__iterations_left -= sweeps;
  }
};

template <class Kernel>
std::unique_ptr<RtlKernel> make(Time period) {
  return std::make_unique<Kernel>(period);
}

constexpr std::array<std::string_view, 3> names{"read_bandwidth", "write_bandwidth", "bandwidth"};
constexpr std::array<std::unique_ptr<RtlKernel> (*)(Time), names.size()> makers{
    make<ReadBandwidth>, make<WriteBandwidth>, make<Bandwidth>};

}  // namespace

std::unique_ptr<RtlKernel> make_rtl_kernel(std::string_view name, Time period) {
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (names[n] == name) {
      return makers[n](period);
    }
  }
  std::string known;
  for (const std::string_view each : names) {
    known += known.empty() ? "" : ", ";
    known += each;
  }
  throw std::invalid_argument("no RTL kernel \"" + std::string(name) + "\"; known: " + known);
}

}  // namespace isthmus::card

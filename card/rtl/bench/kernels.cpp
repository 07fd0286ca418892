// The kernels by name: which of Verilator's classes each is, and how its pins are named.
#include <array>

#include "Vbandwidth.h"
#include "Vbandwidth___024root.h"
#include "Vread_bandwidth.h"
#include "Vread_bandwidth___024root.h"
#include "Vregister_block.h"
#include "Vserial_receive.h"
#include "Vserial_send.h"
#include "Vsram_controller.h"
#include "Vvadd.h"
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

struct Vadd final : VerilatedKernel<Vvadd> {
  explicit Vadd(Time period) : VerilatedKernel(period) {
    add_reader(ISTHMUS_READ_PINS(model_, a));
    add_reader(ISTHMUS_READ_PINS(model_, b));
    add_writer(ISTHMUS_WRITE_PINS(model_, c));
    begin_with(Pin(model_.__SYM__interrupt));
  }
};

struct SerialSend final : VerilatedKernel<Vserial_send> {
  explicit SerialSend(Time period) : VerilatedKernel(period) {
    add_sender(ISTHMUS_STREAM_PINS(model_, m_axis_channel));
    begin_with(Pin(model_.__SYM__interrupt));
  }
};

struct SerialReceive final : VerilatedKernel<Vserial_receive> {
  explicit SerialReceive(Time period) : VerilatedKernel(period) {
    add_receiver(ISTHMUS_STREAM_PINS(model_, s_axis_channel));
    begin_with(Pin(model_.__SYM__interrupt));
  }
};

struct RegisterBlock final : VerilatedKernel<Vregister_block> {
  explicit RegisterBlock(Time period) : VerilatedKernel(period) { begin_with({}); }
};

template <class Kernel>
std::unique_ptr<RtlKernel> make(Time period) {
  return std::make_unique<Kernel>(period);
}

constexpr std::array<std::string_view, 7> names{
    "read_bandwidth", "write_bandwidth", "bandwidth",     "vadd",
    "serial_send",    "serial_receive",  "register_block"};
constexpr std::array<std::unique_ptr<RtlKernel> (*)(Time), names.size()> makers{
    make<ReadBandwidth>, make<WriteBandwidth>, make<Bandwidth>,    make<Vadd>,
    make<SerialSend>,    make<SerialReceive>,  make<RegisterBlock>};

}  // namespace

std::span<const std::string_view> rtl_kernels() { return names; }

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

struct RtlSram::Model : VerilatedModule<Vsram_controller> {};

RtlSram::RtlSram() : model_(std::make_unique<Model>()) {
  clock(std::nullopt, std::nullopt);
  model_->pins.ap_rst_n = 1;
}

RtlSram::~RtlSram() = default;

std::optional<std::uint64_t> RtlSram::clock(std::optional<Write> write,
                                            std::optional<std::uint32_t> read) {
  Vsram_controller& pins = model_->pins;
  pins.write_valid = write ? 1 : 0;
  if (write) {
    pins.write_address = static_cast<std::uint16_t>(write->address % words);
    pins.write_data = write->data;
    pins.write_strobe = write->strobes;
  }
  pins.read_valid = read ? 1 : 0;
  pins.read_address = static_cast<std::uint16_t>(read.value_or(0) % words);
  pins.ap_clk = 1;
  pins.eval();
  pins.ap_clk = 0;
  pins.eval();
  if (pins.read_data_valid == 0) {
    return std::nullopt;
  }
  return pins.read_data;
}

}  // namespace isthmus::card

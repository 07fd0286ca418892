// A kernel of a class that Verilator made.
#pragma once

#include <verilated.h>

#include "kernel.hpp"

namespace isthmus::card {

template <class Model>
class VerilatedKernel : public BenchKernel {
 public:
  using BenchKernel::BenchKernel;
  ~VerilatedKernel() override {
    // Verilator 5.006 takes a model's scopes out of the thread's context, whichever that is.
    Verilated::threadContextp(&context_);
    model_.final();
  }

 protected:
  void edge() final {
    set_clocks(1);
    model_.eval();
    set_clocks(0);
    model_.eval();
  }
  /// Verilator renames the pin `interrupt`, a name it reserves, to __SYM__interrupt.
  void begin_with(Pin interrupt) {
    begin(ISTHMUS_CONTROL_PINS(model_), Pin(model_.ap_rst_n), interrupt);
  }

 private:
  /// A second clock goes with the first.
  void set_clocks(std::uint8_t level) {
    model_.ap_clk = level;
    if constexpr (requires(Model& model) { model.ap_clk_2; }) {
      model_.ap_clk_2 = level;
    }
    if constexpr (requires(Model& model) { model.ap_rst_n_2; }) {
      model_.ap_rst_n_2 = model_.ap_rst_n;
    }
  }

  VerilatedContext context_;

 protected:
  Model model_{&context_};
};

}  // namespace isthmus::card

// A kernel of any class that Verilator generated, as RtlKernel.
#pragma once

#include "kernel.hpp"
#include "verilated_module.hpp"

namespace isthmus::card {

template <class Model>
class VerilatedKernel : public BenchKernel {
 public:
  using BenchKernel::BenchKernel;

 protected:
  void edge() final {
    model_.ap_clk = 1;
    model_.eval();
    model_.ap_clk = 0;
    model_.eval();
  }
  /// Starts the bench. Verilator renames the pin `interrupt` to __SYM__interrupt, so its name
  /// varies.
  void begin_with(Pin interrupt) {
    begin(ISTHMUS_CONTROL_PINS(model_), Pin(model_.ap_rst_n), interrupt);
  }

 private:
  VerilatedModule<Model> module_;

 protected:
  Model& model_ = module_.pins;
};

}  // namespace isthmus::card

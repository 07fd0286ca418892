// Makes the model of a module that Verilator compiled. This file is compiled with each kernel of a
// user, in C++17.
#pragma once

#include <verilated.h>

namespace isthmus::card {

template <class Module>
struct VerilatedModule {
  VerilatedModule() = default;
  VerilatedModule(const VerilatedModule&) = delete;
  VerilatedModule& operator=(const VerilatedModule&) = delete;
  ~VerilatedModule() {
    // Verilator 5.006 removes a model's scopes from the thread's context, not from the model's.
    Verilated::threadContextp(&context);
    pins.final();
  }

  VerilatedContext context;
  Module pins{&context};
};

}  // namespace isthmus::card

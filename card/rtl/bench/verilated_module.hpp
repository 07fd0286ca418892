// A module of a class that Verilator made. Each kernel of a user compiles this, in C++17.
#pragma once

#include <verilated.h>

namespace isthmus::card {

template <class Module>
struct VerilatedModule {
  VerilatedModule() = default;
  VerilatedModule(const VerilatedModule&) = delete;
  VerilatedModule& operator=(const VerilatedModule&) = delete;
  ~VerilatedModule() {
    // Verilator 5.006 takes a model's scopes out of the thread's context, whichever that is.
    Verilated::threadContextp(&context);
    pins.final();
  }

  VerilatedContext context;
  Module pins{&context};
};

}  // namespace isthmus::card

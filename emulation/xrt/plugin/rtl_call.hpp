// A verilated kernel behind the emulated card; `isthmus card kernel build` writes what is declared
// here, from the description and the ports of the module.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rtl_stream.hpp"
#include "verilated_kernel.hpp"

namespace isthmus::card::plugin {

struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

/// Where the arguments lie.
std::vector<Register> registers();

struct VerilogKernel {
  std::unique_ptr<BenchKernel> bench;
  std::function<void()> settle;  ///< lets outputs follow inputs within a clock
  bool controlled = true;        ///< has registers; else it runs from its reset on
  std::vector<AxisPins> streams;
  std::span<const std::byte> state;  ///< all that the module remembers
};

/// A kernel that has been reset; `period` in femtoseconds.
VerilogKernel make_kernel(Time period);

}  // namespace isthmus::card::plugin

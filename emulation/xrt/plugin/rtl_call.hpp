// A verilated kernel behind the emulated card; `isthmus card kernel build` writes what is declared
// here, from the description and the ports of the module.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "verilated_kernel.hpp"

namespace isthmus::card::plugin {

struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

/// Where the arguments lie.
std::vector<Register> registers();

/// A kernel that has been reset; `period` in femtoseconds.
std::unique_ptr<BenchKernel> make_kernel(Time period);

}  // namespace isthmus::card::plugin

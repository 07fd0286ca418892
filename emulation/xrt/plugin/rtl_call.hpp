// A verilated kernel behind the emulated card; `isthmus card kernel build` writes what is declared
// here, from the description and the ports of the module.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "rtl_rules.hpp"
#include "rtl_stream.hpp"

namespace isthmus::card::plugin {

struct Register {
  std::uint32_t offset;
  std::uint32_t bytes;
};

/// Where the arguments lie.
std::vector<Register> registers();

struct VerilogKernel {
  std::unique_ptr<BenchKernel> bench;
  bool controlled = true;            ///< has registers; else it runs from its reset on
  bool chained = false;              ///< is told to continue when it is done
  std::vector<std::string> masters;  ///< names, such as m_axi_gmem
  std::vector<AxisPins> streams;
  std::vector<Offered> offered;
  std::span<const std::byte> state;  ///< all that the module remembers
};

/// A kernel that has been reset; `period` in femtoseconds.
VerilogKernel make_kernel(Time period);

}  // namespace isthmus::card::plugin

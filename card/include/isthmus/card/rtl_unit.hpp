// Runs RTL kernels as parts of the machine: its events clock them, behind its link or at its banks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "isthmus/card/kernel.hpp"

namespace isthmus::card {

/// Makes the runner through which a Card runs RTL kernels.
std::unique_ptr<RtlRunner> make_rtl_unit(Machine& machine);

/// Returns the checksum that read_bandwidth.sv computes over `sweeps` sweeps.
std::uint64_t rtl_checksum(std::span<const std::byte> data, std::int64_t sweeps);

}  // namespace isthmus::card

// RTL kernels as part of the machine: clocked by its events, behind its link or at its banks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "isthmus/card/kernel.hpp"

namespace isthmus::card {

/// What a Card is given so that it can run RTL kernels.
std::unique_ptr<RtlRunner> make_rtl_unit(Machine& machine);

/// The checksum that read_bandwidth keeps over that many sweeps (see its source).
std::uint64_t rtl_checksum(std::span<const std::byte> data, std::int64_t sweeps);

}  // namespace isthmus::card

// A program that gives the card no memory of the host's.
#pragma once

#include "isthmus/card/process/memory.hpp"

namespace isthmus::card::process {

class NoHostMemory : public ProgramMemory {
 public:
  void read(std::uint64_t address, std::span<std::byte> to) override {
    throw MemoryError(address, to.size(), "no such host memory");
  }
  void write(std::uint64_t address, std::span<const std::byte> from) override {
    throw MemoryError(address, from.size(), "no such host memory");
  }
  std::uint64_t bytes_at(std::uint64_t /*address*/, std::uint64_t /*most*/) override { return 0; }
};

}  // namespace isthmus::card::process

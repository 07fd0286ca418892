// One load or store of the processor, in the words of the study `mmio`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {

/// How the processor reaches a device.
struct Access {
  std::string operation;    ///< register_load, bar_memory_load, store, syscall_load, ...
  std::string instruction;  ///< mov, movdqa, movntdqa, movnti, movntdq, movdir64b, pread, pwrite
  unsigned width = 8;       ///< bytes of one instruction
  std::string fence = "none";
  /// Accesses follow each other at once, a fence comes after them all; else each waits for the one
  /// before it, by its address or by the fence after it.
  bool pipelined = false;

  [[nodiscard]] bool stores() const { return operation.ends_with("store"); }
  [[nodiscard]] bool operator==(const Access&) const = default;
};

/// The access that a specification asks for; what it leaves open is as in `Access`.
Access access_of(const OperationSpec& spec);

/// As an operation of one kind of memory, in blocks from the instruction's width to `most_bytes`.
OperationInfo describe(const Access& access, const std::string& memory, std::uint64_t most_bytes);

/// Loads of `operation`: by general registers to 8 bytes, by vector registers (`movdqa`) and
/// streaming (`movntdqa`) to 64 where `vectors`. Each alone (by address, lfence, mfence), and
/// pipelined.
std::vector<Access> loads_of(const std::string& operation, bool vectors);
/// All stores: pipelined without a fence or with one after the block, and each with its fence.
std::vector<Access> all_stores();

/// Bytes that a block of this access may have: only one that is pipelined is more than itself.
std::uint64_t most_block(const Access& access, std::uint64_t block);

}  // namespace isthmus

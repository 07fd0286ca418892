// One load or store of the processor, in the words of the study `mmio`.
#pragma once

#include <cstdint>
#include <optional>
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

/// Part of a device that the user named: `NAME:OFFSET+BYTES`, a BAR or a block of registers.
struct NamedRange {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Reads a number as C writes it, or as 4Ki; nothing where it is none.
std::optional<std::uint64_t> parse_number(const std::string& text);

/// What the user lets be touched, and how.
struct Permission {
  std::optional<NamedRange> registers;
  std::optional<NamedRange> memory;  ///< plain memory: loads and stores have no side effects
  bool loads = false;
  bool stores = false;
};

/// From the options `registers`, `memory`, `allow_loads` and `allow_writes`; `name` is what stands
/// before the colon. Throws UsageError for a range without permission, and for permission without a
/// range.
Permission permission_of(const Options& options, const std::string& name);
/// Their names.
std::vector<std::string> permission_options();
/// Whether an option is `yes`; throws UsageError where it is neither that nor `no`.
bool is_yes(const Options& options, const std::string& name);

}  // namespace isthmus

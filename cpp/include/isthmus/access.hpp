// Loads and stores of the processor to a device: descriptions of accesses, and permissions for
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {

/// A kind of load or store, by operation, instruction, width and fences of the study `mmio`.
struct Access {
  std::string operation;    ///< register_load, bar_memory_load, store, syscall_load, ...
  std::string instruction;  ///< mov, movdqa, movntdqa, movnti, movntdq, movdir64b, pread, pwrite
  unsigned width = 8;       ///< bytes of one instruction
  std::string fence = "none";
  /// Whether accesses overlap, with a fence after all of them. Otherwise each waits for the
  /// previous access, by an address dependency or by the fence.
  bool pipelined = false;

  [[nodiscard]] bool stores() const { return operation.ends_with("store"); }
  [[nodiscard]] bool operator==(const Access&) const = default;
};

/// The access of a specification; values that it does not set are the defaults of `Access`.
Access access_of(const OperationSpec& spec);

/// The access as an operation on one kind of memory, for blocks from the width to `most_bytes`.
OperationInfo describe(const Access& access, const std::string& memory, std::uint64_t most_bytes);

/// Loads of `operation`: to general registers up to 8 bytes; with `vectors` also to vector
/// registers (`movdqa`) and streaming (`movntdqa`) up to 64 bytes. Each occurs dependent (by
/// address, lfence, mfence) and pipelined.
std::vector<Access> loads_of(const std::string& operation, bool vectors);
/// All stores: pipelined without a fence or with a fence after the block, and with a fence after
/// each store.
std::vector<Access> all_stores();

/// Largest block in bytes: `block` for pipelined accesses, else a single access.
std::uint64_t most_block(const Access& access, std::uint64_t block);

/// An address range that the user named: `NAME:OFFSET+BYTES`, in a BAR or a register block.
struct NamedRange {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string text;  ///< as typed, for messages
};

/// Reads a number in C's notation or as 4Ki; nothing for other text.
std::optional<std::uint64_t> parse_number(const std::string& text);

/// Address ranges that the user allows to access, and whether to load from or store to them.
struct Permission {
  std::optional<NamedRange> registers;
  std::optional<NamedRange> memory;  ///< plain memory: loads and stores have no side effects
  bool loads = false;
  bool stores = false;
};

/// The permission by options `registers`, `memory`, `allow_loads` and `allow_writes`; `name`
/// describes the part before the colon in errors. Throws UsageError for a range without permission,
/// and for permission without a range.
Permission permission_of(const Options& options, const std::string& name);
/// Names of these options.
std::vector<std::string> permission_options();
/// Whether an option is `yes`; throws UsageError for values other than `yes` and `no`.
bool is_yes(const Options& options, const std::string& name);

}  // namespace isthmus

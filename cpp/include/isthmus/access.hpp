// The kinds of loads and stores that study `mmio` times, and the address ranges that a user
// permits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {

/// A kind of load or store by the processor, as the axes of study `mmio` name it.
struct Access {
  std::string operation;    ///< register_load, bar_memory_load, store, syscall_load, ...
  std::string instruction;  ///< mov, movdqa, movntdqa, movnti, movntdq, movdir64b, pread, pwrite
  unsigned width = 8;       ///< bytes of one instruction
  std::string fence = "none";
  /// Whether a block's accesses overlap, with a fence after the last. Otherwise each access waits
  /// for the one before, by an address dependency or a fence.
  bool pipelined = false;

  [[nodiscard]] bool stores() const { return operation.ends_with("store"); }
  [[nodiscard]] bool operator==(const Access&) const = default;
};

/// Returns the access that a specification's axes name; axes that it leaves out have the defaults
/// of `Access`.
Access access_of(const OperationSpec& spec);

/// Returns the operation that does this access on one kind of memory, for blocks from its width to
/// `most_bytes`.
OperationInfo describe(const Access& access, const std::string& memory, std::uint64_t most_bytes);

/// Returns the kinds of loads of `operation`: up to 8 bytes to general registers; with `vectors`
/// also up to 64 bytes by `movdqa` and by the streaming `movntdqa`. Each occurs pipelined, and
/// dependent by an address, lfence or mfence.
std::vector<Access> loads_of(const std::string& operation, bool vectors);
/// Returns all kinds of stores: pipelined without a fence, pipelined with a fence after the block,
/// and with a fence after each store.
std::vector<Access> all_stores();

/// Returns the largest block in bytes: `block` for pipelined accesses, else the width of one
/// access.
std::uint64_t most_block(const Access& access, std::uint64_t block);

/// A range of a BAR or of a register block, which the user gives as `NAME:OFFSET+BYTES`.
struct NamedRange {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string text;  ///< what the user gave, for messages
};

/// Returns the value of a number like `4096`, `0x1000` or `4Ki`; nothing for other text.
std::optional<std::uint64_t> parse_number(const std::string& text);

/// Address ranges that the user permits Isthmus to access, and whether by loads, by stores or both.
struct Permission {
  std::optional<NamedRange> registers;
  std::optional<NamedRange> memory;  ///< memory whose loads and stores have no side effects
  bool loads = false;
  bool stores = false;
};

/// Returns what options `registers`, `memory`, `allow_loads` and `allow_writes` permit; errors call
/// the part before the colon `name`. Throws UsageError for a range without permission, and for
/// permission without a range.
Permission permission_of(const Options& options, const std::string& name);
/// Returns the names of the options that `permission_of` reads.
std::vector<std::string> permission_options();
/// Returns whether the option's value is `yes`; throws UsageError for values other than `yes` and
/// `no`.
bool is_yes(const Options& options, const std::string& name);

}  // namespace isthmus

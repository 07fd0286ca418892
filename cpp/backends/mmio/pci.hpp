// PCI functions in sysfs. Only functions that the caller names are accessed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/access.hpp"

namespace isthmus::mmio {

/// Part of a BAR that the user named: `BAR:OFFSET+BYTES`.
struct Range {
  unsigned bar = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Throws UsageError if the name is not a number.
Range bar_range(const NamedRange& named);

/// A file descriptor that closes itself.
class File {
 public:
  /// Throws BackendError with the required permission.
  File(const std::string& path, int flags);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_;
};

/// One PCI function.
class Function {
 public:
  /// Addresses of all functions here.
  static std::vector<std::string> addresses();
  explicit Function(std::string address);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string folder() const;
  /// A line of a file in its folder; empty if the file does not exist.
  [[nodiscard]] std::string text(const std::string& file) const;
  /// Name of its driver; empty without one.
  [[nodiscard]] std::string driver() const;
  /// Bytes of a BAR, 0 if it is absent or not memory.
  [[nodiscard]] std::uint64_t bar_bytes(unsigned bar) const;
  [[nodiscard]] std::uint64_t bar_address(unsigned bar) const;
  /// Whether Linux offers a write-combined mapping, because the BAR is prefetchable.
  [[nodiscard]] bool has_write_combining(unsigned bar) const;

  /// Throws UsageError if the range is not in a memory BAR, BackendError if a driver uses the
  /// function (unless `claimed`) or memory decoding is off. `what` names the range.
  void check(const Range& range, const std::string& what, bool claimed) const;

 private:
  struct Bar {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool prefetchable = false;
  };
  std::string address_;
  std::array<Bar, 6> bars_{};
};

/// Part of a BAR, mapped through `resourceN` (uncached) or `resourceN_wc` (write-combined).
class Mapping {
 public:
  Mapping(const Function& function, const Range& range, bool write_combining, bool writable);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  File file_;
  void* pages_;
  std::size_t mapped_;
  std::byte* data_;
  std::size_t bytes_;
};

/// Memory type of a mapped physical address in the kernel's words (`write-combining`); empty if
/// only root may read it, or debugfs is not mounted.
std::string granted_type(std::uint64_t address);

}  // namespace isthmus::mmio

// Reads PCI functions from sysfs and maps their BARs; accesses only functions that the caller
// names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/access.hpp"

namespace isthmus::mmio {

/// A part of a BAR, which the user gives as `BAR:OFFSET+BYTES`.
struct Range {
  unsigned bar = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Converts the name of a range to the number of a BAR; throws UsageError if it is not a number.
Range bar_range(const NamedRange& named);

/// A file descriptor that the destructor closes.
class File {
 public:
  /// Opens a file; throws BackendError that says which permission is missing.
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

/// One PCI function, by its address.
class Function {
 public:
  /// Returns the addresses of all functions of this machine.
  static std::vector<std::string> addresses();
  explicit Function(std::string address);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string folder() const;
  /// Returns the first line of a file in the function's sysfs folder; empty if the file does not
  /// exist.
  [[nodiscard]] std::string text(const std::string& file) const;
  /// Returns the name of the function's driver; empty without a driver.
  [[nodiscard]] std::string driver() const;
  /// Returns the size of a BAR in bytes, 0 if it is absent or not memory.
  [[nodiscard]] std::uint64_t bar_bytes(unsigned bar) const;
  [[nodiscard]] std::uint64_t bar_address(unsigned bar) const;
  /// Returns whether Linux offers a write-combined mapping of the BAR, because the BAR is
  /// prefetchable.
  [[nodiscard]] bool has_write_combining(unsigned bar) const;

  /// Throws UsageError, which names the range `what`, if it is not in a memory BAR. Throws
  /// BackendError if memory decoding is off or, unless `claimed`, a driver uses the function.
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

/// A part of a BAR that is mapped through `resourceN` (uncached) or `resourceN_wc`
/// (write-combined).
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

/// Returns the kernel's name of a mapped address's memory type, e.g. `write-combining`. Empty if
/// only root may read it, or debugfs is not mounted.
std::string granted_type(std::uint64_t address);

}  // namespace isthmus::mmio

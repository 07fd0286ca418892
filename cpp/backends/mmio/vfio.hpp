// Reads and writes a BAR through VFIO, Linux's driver that does so by system calls.
#pragma once

#include <cstdint>
#include <string>

#include "pci.hpp"

namespace isthmus::mmio {

/// Returns whether VFIO owns the function, so that system calls can access its BARs.
bool has_vfio(const Function& function);

/// One BAR of a function that vfio-pci owns. Linux splits a request into loads and stores of at
/// most 4 or 8 bytes.
class VfioRegion {
 public:
  /// Opens the BAR; throws BackendError that says what is missing.
  VfioRegion(const Function& function, unsigned bar);
  ~VfioRegion();
  VfioRegion(const VfioRegion&) = delete;
  VfioRegion& operator=(const VfioRegion&) = delete;

  /// Makes one system call. Throws BackendError if it fails.
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;
  void write(std::uint64_t offset, const void* from, std::size_t bytes) const;

 private:
  File container_;
  File group_;
  int device_ = -1;
  std::uint64_t begin_ = 0;
};

}  // namespace isthmus::mmio

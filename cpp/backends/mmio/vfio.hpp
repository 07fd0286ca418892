// A BAR through VFIO: the in-tree driver that lets system calls load and store it.
#pragma once

#include <cstdint>
#include <string>

#include "pci.hpp"

namespace isthmus::mmio {

/// Whether VFIO has the function, so that its BARs can be read and written by system calls.
bool has_vfio(const Function& function);

/// One BAR of a function that vfio-pci has. The kernel splits what is asked for into loads and
/// stores of at most 4 or 8 bytes.
class VfioRegion {
 public:
  /// Throws BackendError that says what is missing.
  VfioRegion(const Function& function, unsigned bar);
  ~VfioRegion();
  VfioRegion(const VfioRegion&) = delete;
  VfioRegion& operator=(const VfioRegion&) = delete;

  /// One system call each. Throws BackendError where it fails.
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;
  void write(std::uint64_t offset, const void* from, std::size_t bytes) const;

 private:
  File container_;
  File group_;
  int device_ = -1;
  std::uint64_t begin_ = 0;
};

}  // namespace isthmus::mmio

// A GPU's links to other GPUs, and reasons for a low clock, from the driver's management library.
#pragma once

#include <optional>
#include <string>

namespace isthmus::cuda {

struct Nvlink {
  unsigned links;                   ///< number of active links
  double bytes_per_second_one_way;  ///< sum over all links
};

/// The links of the GPU at a PCI address; nothing without links or information. The management
/// library is searched beside the driver's if that has a path, then by name.
std::optional<Nvlink> nvlink_of(const std::string& pci_address, const std::string& driver);

struct Condition {
  std::string slowed_by;  ///< names of reasons for a low clock, with commas between; "none"
  std::string replays;    ///< packets sent again over PCIe since reset; "unknown"
};

/// Present reasons for a low clock of the GPU at a PCI address; nothing if unknown.
std::optional<Condition> condition_of(const std::string& pci_address, const std::string& driver);

}  // namespace isthmus::cuda

// A GPU's links to other GPUs and what slows it, as the driver's management library tells.
#pragma once

#include <optional>
#include <string>

namespace isthmus::cuda {

struct Nvlink {
  unsigned links;                   ///< that are up
  double bytes_per_second_one_way;  ///< of all of them together
};

/// The links of the GPU at a PCI address; nothing where it has none, or nobody tells. The
/// management library is looked for beside the driver's where that has a path, then by name.
std::optional<Nvlink> nvlink_of(const std::string& pci_address, const std::string& driver);

struct Condition {
  std::string slowed_by;  ///< reasons for a low clock by name, with commas between; "none"
  std::string replays;    ///< packets sent again over PCIe since reset; "unknown"
};

/// What slows the GPU at a PCI address now; nothing where nobody tells.
std::optional<Condition> condition_of(const std::string& pci_address, const std::string& driver);

}  // namespace isthmus::cuda

// Reads a GPU's links to other GPUs and the reasons for a low clock from NVML, the driver's
// management library.
#pragma once

#include <optional>
#include <string>

namespace isthmus::cuda {

struct Nvlink {
  unsigned links;                   ///< number of active links
  double bytes_per_second_one_way;  ///< bytes per second in one direction, sum over all links
};

/// Returns the active links of the GPU at a PCI address; nothing if there are none or NVML does not
/// know. NVML is searched beside the driver's library if `driver` is a path, then by name.
std::optional<Nvlink> nvlink_of(const std::string& pci_address, const std::string& driver);

struct Condition {
  std::string slowed_by;  ///< names of the reasons for a low clock, separated by commas; "none"
  std::string replays;    ///< packets that PCIe repeated since the GPU's reset; "unknown"
};

/// Returns the reasons for a low clock at the moment, of the GPU at a PCI address; nothing if
/// unknown.
std::optional<Condition> condition_of(const std::string& pci_address, const std::string& driver);

}  // namespace isthmus::cuda

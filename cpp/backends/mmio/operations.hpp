// Accesses of the processor to a PCI function and, for comparison, to its own memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/access.hpp"
#include "isthmus/backend.hpp"
#include "pci.hpp"

namespace isthmus::mmio {

/// Accesses to a function's BARs that the user permits.
struct BarPermission {
  std::optional<Range> registers;
  std::optional<Range> memory;  ///< plain memory: loads and stores have no side effects
  bool loads = false;
  bool stores = false;
};

/// Bytes of configuration space that every user may read.
inline constexpr std::uint64_t config_bytes = 64;

/// Configuration space, which every user may read, and the host's own memory.
std::vector<OperationInfo> safe_operations();
/// Permitted operations on BARs; a prefetchable BAR is also mapped write-combined.
std::vector<OperationInfo> bar_operations(const Function& function,
                                          const BarPermission& permission);

/// Throws UsageError for sizes that do not fit, BackendError if the kernel refuses.
std::unique_ptr<Operation> make_operation(const Function& function, const BarPermission& permission,
                                          const OperationSpec& spec);

/// Host baselines (`host_load`, `host_stream`, `line_exchange`): see baselines.cpp.
std::vector<OperationInfo> baselines();
bool is_baseline(const std::string& operation);
std::unique_ptr<Operation> make_baseline(const OperationSpec& spec);

/// `virtualised` if the processor reports a hypervisor.
std::vector<std::string> machine_remarks();

}  // namespace isthmus::mmio

// Operations of the processor on a PCI function and, for comparison, on the host's own memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/access.hpp"
#include "isthmus/backend.hpp"
#include "pci.hpp"

namespace isthmus::mmio {

/// The parts of a function's BARs that the user permits to access.
struct BarPermission {
  std::optional<Range> registers;
  std::optional<Range> memory;  ///< memory whose loads and stores have no side effects
  bool loads = false;
  bool stores = false;
};

/// Bytes of configuration space that users other than root may read.
inline constexpr std::uint64_t config_bytes = 64;

/// Describes the operations that need no permission: on configuration space and on the host's
/// memory.
std::vector<OperationInfo> safe_operations();
/// Describes the permitted operations on BARs; a prefetchable BAR also as a write-combined mapping.
std::vector<OperationInfo> bar_operations(const Function& function,
                                          const BarPermission& permission);

/// Creates an operation. Throws UsageError for a size that does not fit, BackendError if Linux
/// refuses.
std::unique_ptr<Operation> make_operation(const Function& function, const BarPermission& permission,
                                          const OperationSpec& spec);

/// Describes the operations on the host's own memory: `host_load`, `host_stream`, `line_exchange`.
std::vector<OperationInfo> baselines();
bool is_baseline(const std::string& operation);
std::unique_ptr<Operation> make_baseline(const OperationSpec& spec);

/// Returns `virtualised` if a hypervisor runs this machine, else nothing.
std::vector<std::string> machine_remarks();

}  // namespace isthmus::mmio

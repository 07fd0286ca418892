// Operations by kernels of a device's binary that sweep over card or host memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Describes the binary's bandwidth kernels, whose memories it finds by trial. `implementation` is
/// `board` or `model`.
std::vector<OperationInfo> sweep_operations(Session& session, const std::string& implementation);

/// Returns the targets (host, device) that no operation accesses, each with the reason and a
/// remedy.
std::vector<std::pair<std::string, std::string>> unreached(const std::vector<OperationInfo>& known);

/// Creates one of these operations. Returns null for another operation, or if the device compiles
/// its kernels itself.
std::unique_ptr<Operation> make_sweep(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

// Kernels of a device's binary that sweep over buffers in card or host memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Operations of the binary's bandwidth kernels, with their memories found by trial.
/// `implementation` of the kernels: `board` or `model`.
std::vector<OperationInfo> sweep_operations(Session& session, const std::string& implementation);

/// The targets that none of these operations has, with reason and remedy.
std::vector<std::pair<std::string, std::string>> unreached(const std::vector<OperationInfo>& known);

/// Returns null for another operation, or if the device compiles its kernels itself.
std::unique_ptr<Operation> make_sweep(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

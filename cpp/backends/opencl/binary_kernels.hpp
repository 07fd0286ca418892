// Kernels of a device's binary that sweep over buffers, in the card's memory or in the host's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// What the binary's bandwidth kernels do, and on which memory, found out by trying.
/// `implementation`: what these kernels are, `board` or `model`.
std::vector<OperationInfo> sweep_operations(Session& session, const std::string& implementation);

/// The targets that none of these operations has, with the reason and the cure.
std::vector<std::pair<std::string, std::string>> unreached(const std::vector<OperationInfo>& known);

/// Nothing for another operation, or where the device compiles its kernels itself.
std::unique_ptr<Operation> make_sweep(Session& session, const OperationSpec& spec);

}  // namespace isthmus::cl

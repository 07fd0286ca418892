// Kernels of the bitstream that sweep over buffers in card or host memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace isthmus::xrt_native {

/// Operations of the bitstream's bandwidth kernels. On an emulated card they are models.
std::vector<OperationInfo> sweep_operations(const Contents& contents, bool emulated);

/// Targets that these kernels do not access, with reason and remedy.
std::vector<std::pair<std::string, std::string>> unreached(const Contents& contents);

/// Returns null for another operation.
std::unique_ptr<Operation> make_sweep(const Session& session, const OperationSpec& spec);

}  // namespace isthmus::xrt_native

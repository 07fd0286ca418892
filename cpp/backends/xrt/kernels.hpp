// Operations by kernels of the bitstream that sweep over card or host memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace isthmus::xrt_native {

/// Describes the bitstream's bandwidth kernels; on an emulated card they are models.
std::vector<OperationInfo> sweep_operations(const Contents& contents, bool emulated);

/// Returns the targets (host, device) that no kernel accesses, each with the reason and a remedy.
std::vector<std::pair<std::string, std::string>> unreached(const Contents& contents);

/// Creates one of these operations; returns null for another operation.
std::unique_ptr<Operation> make_sweep(const Session& session, const OperationSpec& spec);

}  // namespace isthmus::xrt_native

// Kernels of the bitstream that sweep over buffers, in the card's memory or in the host's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace isthmus::xrt_native {

/// What the bitstream's bandwidth kernels can be asked to do. On an emulated card they are models.
std::vector<OperationInfo> sweep_operations(const Contents& contents, bool emulated);

/// Targets that they do not reach, with the reason and the cure.
std::vector<std::pair<std::string, std::string>> unreached(const Contents& contents);

/// Nothing for an operation that is none of theirs.
std::unique_ptr<Operation> make_sweep(const Session& session, const OperationSpec& spec);

}  // namespace isthmus::xrt_native

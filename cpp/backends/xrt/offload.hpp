// The vector add through XRT's native API, phase by phase.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/offload.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// What the bitstream's vector add can be asked to do; nothing where it has none.
std::vector<OperationInfo> offloads(const Contents& contents);
/// Kinds of memory that it is not offered from, with the reason.
std::vector<std::pair<std::string, std::string>> offload_lacks(const Contents& contents);

/// On that board, opened and programmed as the first that is done, and timed.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, const BoardId& board,
                                      const Options& options);

}  // namespace isthmus::xrt_native

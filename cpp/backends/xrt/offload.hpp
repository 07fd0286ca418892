// The vector addition through XRT's native API, phase by phase.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/offload.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// Offloads of the bitstream's vector addition; empty if it has none.
std::vector<OperationInfo> offloads(const Contents& contents);
/// Kinds of memory that it does not support, with the reason.
std::vector<std::pair<std::string, std::string>> offload_lacks(const Contents& contents);

/// Creates the offload on that board, which it opens and programs as its first timed step.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, const BoardId& board,
                                      const Options& options);

}  // namespace isthmus::xrt_native

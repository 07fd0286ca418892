// The vector addition through XRT's native API, phase by phase.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/offload.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// Describes the offloads of the bitstream's kernel `vadd`; empty if it has none.
std::vector<OperationInfo> offloads(const Contents& contents);
/// Returns the kinds of memory that the offload lacks, each with the reason.
std::vector<std::pair<std::string, std::string>> offload_lacks(const Contents& contents);

/// Creates the offload on a board, which it opens and programs in the first timed phase.
std::unique_ptr<Offload> make_offload(const OperationSpec& spec, const BoardId& board,
                                      const Options& options);

}  // namespace isthmus::xrt_native

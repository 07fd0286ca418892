// Divides work on large memory among threads on the caller's NUMA node.
#pragma once

#include <cstddef>
#include <functional>

namespace isthmus {

/// Calls `work(begin, end)` for parts of [0, bytes) in parallel, on allowed processors of this
/// thread's NUMA node, because the first access to a page decides its node. If `bytes` are too few
/// for several threads, the caller does all work. `work` must not throw.
void in_parts(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work);

/// Returns the bytes from which `in_parts` uses all processors near memory, at most 16.
std::size_t bytes_for_all();

}  // namespace isthmus

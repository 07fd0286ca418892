// Work on large memory, spread over the processors near it.
#pragma once

#include <cstddef>
#include <functional>

namespace isthmus {

/// Calls `work(begin, end)` for parts of [0, bytes) in parallel, on allowed processors of this
/// thread's NUMA node, because the first access to a page decides its node. If `bytes` are too few
/// for several threads, the caller does all work. `work` must not throw.
void in_parts(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work);

/// Number of bytes that keeps all these processors busy.
std::size_t bytes_for_all();

}  // namespace isthmus

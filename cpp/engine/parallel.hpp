// Work on large memory, spread over the processors near it.
#pragma once

#include <cstddef>
#include <functional>

namespace isthmus {

/// Calls `work(begin, end)` for parts that make up [0, bytes), at once on the processors that this
/// thread may use and that share its NUMA node: whoever touches a page first decides its node.
/// `bytes` below what a thread is worth are one part, done by the caller. `work` must not throw.
void in_parts(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work);

/// Bytes that keep all of these processors busy.
std::size_t bytes_for_all();

}  // namespace isthmus

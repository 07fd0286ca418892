// Two ways to copy host memory; no transfer to host memory is faster.
#pragma once

#include <cstddef>

namespace isthmus {

using Copy = void (*)(void* to, const void* from, std::size_t bytes);

/// Copies by the C library's memcpy.
void copy_plain(void* to, const void* from, std::size_t bytes);

/// Copies by stores that bypass the caches (MOVNTDQ, VMOVNTDQ); returns when they are complete
/// (SFENCE).
void copy_nontemporal(void* to, const void* from, std::size_t bytes);

/// Returns whether `copy_nontemporal` works on this processor.
bool has_nontemporal();

}  // namespace isthmus

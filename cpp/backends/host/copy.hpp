// Two ways to copy host memory: the limit of any host-side transfer.
#pragma once

#include <cstddef>

namespace isthmus {

using Copy = void (*)(void* to, const void* from, std::size_t bytes);

/// The C library's copy.
void copy_plain(void* to, const void* from, std::size_t bytes);

/// Stores that bypass the caches (MOVNTDQ, VMOVNTDQ), complete at return (SFENCE).
void copy_nontemporal(void* to, const void* from, std::size_t bytes);

/// Whether this processor has non-temporal stores that we use.
bool has_nontemporal();

}  // namespace isthmus

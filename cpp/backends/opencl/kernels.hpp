// The source of the OpenCL backend's kernels, in OpenCL C 1.2, which each runtime compiles.
#pragma once

namespace isthmus::cl {

inline constexpr const char* empty_kernel = "isthmus_empty";
inline constexpr const char* sum_kernel = "isthmus_sum";
inline constexpr const char* fill_kernel = "isthmus_fill";
inline constexpr const char* copy_kernel = "isthmus_copy";

/// Word i of the pattern that `isthmus_fill` writes is seed + i * 2^64 / golden ratio, like
/// `fill_pattern` on the host. `isthmus_sum` adds up all sweeps, the last of an even number twice,
/// because a wrong bit in every sweep could cancel over an even number. It multiplies each partial
/// sum plus one (so that it is not 0) by a key that is new in every launch, so that an old result
/// cannot pass.
///
/// EACH_WORD visits this work item's share: neighbouring items take neighbouring words if a group's
/// memory accesses are merged (GPUs); with CONTIGUOUS each item takes a separate piece, which suits
/// processors' caches.
inline constexpr const char* kernel_source = R"(
#ifdef CONTIGUOUS
#define EACH_WORD(i, words)                                                          \
  const ulong share = ((words) + get_global_size(0) - 1) / get_global_size(0);       \
  const ulong begin = min(share * get_global_id(0), (words));                        \
  const ulong end = min(begin + share, (words));                                     \
  for (ulong i = begin; i < end; ++i)
#else
#define EACH_WORD(i, words) \
  for (ulong i = get_global_id(0); i < (words); i += get_global_size(0))
#endif
#define STEP 0x9E3779B97F4A7C15UL
// Each sweep accesses memory again. `zero` holds a 0 that no compiler knows, so that the addresses
// of two sweeps may differ: a fence alone does not prevent merged loads.
#define EACH_SWEEP(sweeps) \
  for (ulong n = 0, shift = *zero; n < (sweeps); \
       ++n, mem_fence(CLK_GLOBAL_MEM_FENCE), shift = *zero)
#define ZERO_ARGUMENT volatile global const ulong* zero

kernel void isthmus_empty(void) {}

kernel void isthmus_sum(global const ulong* data, ulong bytes, ulong key, global ulong* partial,
                        ulong sweeps, ZERO_ARGUMENT) {
  const ulong words = bytes / 8;
  ulong sum = 0;
  EACH_SWEEP(sweeps) {
    ulong swept = 0;
    EACH_WORD(i, words) swept += data[shift + i];
    if (get_global_id(0) == 0) {
      global const uchar* tail = (global const uchar*)(data + words);
      for (ulong i = 0; i < bytes % 8; ++i) swept += (ulong)tail[i] << (8 * i);
    }
    sum += n + 1 == sweeps && sweeps % 2 == 0 ? 2 * swept : swept;
  }
  partial[get_global_id(0)] = (sum + 1) * key;
}

kernel void isthmus_fill(global ulong* data, ulong bytes, ulong seed, ulong sweeps, ZERO_ARGUMENT) {
  const ulong words = bytes / 8;
  EACH_SWEEP(sweeps) {
    EACH_WORD(i, words) data[shift + i] = seed + i * STEP;
    if (get_global_id(0) == 0) {
      global uchar* tail = (global uchar*)(data + words);
      const ulong word = seed + words * STEP;
      for (ulong i = 0; i < bytes % 8; ++i) tail[i] = (uchar)(word >> (8 * i));
    }
  }
}

kernel void isthmus_copy(global const ulong* restrict from, global ulong* restrict to,
                         ulong bytes, ulong sweeps, ZERO_ARGUMENT) {
  const ulong words = bytes / 8;
  EACH_SWEEP(sweeps) {
    EACH_WORD(i, words) to[shift + i] = from[shift + i];
    if (get_global_id(0) == 0) {
      global const uchar* from_tail = (global const uchar*)(from + words);
      global uchar* to_tail = (global uchar*)(to + words);
      for (ulong i = 0; i < bytes % 8; ++i) to_tail[i] = from_tail[i];
    }
  }
}
)";

}  // namespace isthmus::cl

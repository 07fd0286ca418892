// Device code of the OpenCL backend, in OpenCL C 1.2; each runtime compiles it for itself.
#pragma once

namespace isthmus::cl {

/// Word i of the pattern that `isthmus_fill` writes is seed + i * pattern_step, as `fill_pattern`
/// does on the host. `isthmus_sum` multiplies each partial sum by a key that is new with every
/// launch, so that an old result cannot pass.
inline constexpr const char* kernel_source = R"(
#define STEP 0x9E3779B97F4A7C15UL

kernel void isthmus_empty(void) {}

kernel void isthmus_sum(global const ulong* data, ulong bytes, ulong key, global ulong* partial) {
  const size_t first = get_global_id(0);
  const size_t stride = get_global_size(0);
  const ulong words = bytes / 8;
  ulong sum = 0;
  for (ulong i = first; i < words; i += stride) sum += data[i];
  if (first == 0) {
    global const uchar* tail = (global const uchar*)(data + words);
    for (ulong i = 0; i < bytes % 8; ++i) sum += (ulong)tail[i] << (8 * i);
  }
  partial[first] = sum * key;
}

kernel void isthmus_fill(global ulong* data, ulong bytes, ulong seed) {
  const size_t first = get_global_id(0);
  const size_t stride = get_global_size(0);
  const ulong words = bytes / 8;
  for (ulong i = first; i < words; i += stride) data[i] = seed + i * STEP;
  if (first == 0) {
    global uchar* tail = (global uchar*)(data + words);
    const ulong word = seed + words * STEP;
    for (ulong i = 0; i < bytes % 8; ++i) tail[i] = (uchar)(word >> (8 * i));
  }
}

kernel void isthmus_copy(global const ulong* from, global ulong* to, ulong bytes) {
  const size_t first = get_global_id(0);
  const size_t stride = get_global_size(0);
  const ulong words = bytes / 8;
  for (ulong i = first; i < words; i += stride) to[i] = from[i];
  if (first == 0) {
    global const uchar* from_tail = (global const uchar*)(from + words);
    global uchar* to_tail = (global uchar*)(to + words);
    for (ulong i = 0; i < bytes % 8; ++i) to_tail[i] = from_tail[i];
  }
}
)";

}  // namespace isthmus::cl

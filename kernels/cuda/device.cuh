// Functions that all device code of this folder includes: indices, loads, stores, copies. The file
// uses no header and no built-in functions, so that clang without a CUDA toolkit compiles it, like
// nvcc. Functions of the device that C++ lacks are one line of PTX each.
#pragma once

#ifndef __global__  // clang knows the attributes; only the toolkit's headers define these names
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif
#define ENTRY extern "C" __global__ void

typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

constexpr u32 in_flight = 4;  // loads that a thread issues before it waits for the first

/// Two words: the widest access that a thread makes.
struct Pair {
  u64 low;
  u64 high;
};

/// A thread's share of a buffer: items `first`, `first + stride`, ... Neighbouring threads access
/// neighbouring items.
struct Share {
  u32 thread;
  u32 block;
  u64 first;
  u64 stride;
};

__device__ inline u32 my_thread() {
  u32 value;
  asm("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}

__device__ inline u32 my_block() {
  u32 value;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}

__device__ inline u32 threads_of_block() {
  u32 value;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(value));
  return value;
}

__device__ inline Pair load(const void* base, u64 index) {
  Pair pair;
  const char* at = static_cast<const char*>(base) + index * sizeof(Pair);
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(pair.low), "=l"(pair.high) : "l"(at));
  return pair;
}

__device__ inline void store(void* base, u64 index, Pair pair) {
  char* at = static_cast<char*>(base) + index * sizeof(Pair);
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(pair.low), "l"(pair.high)
               : "memory");
}

__device__ inline void wait_for_block() { asm volatile("bar.sync 0;" ::: "memory"); }

__device__ inline u64 nanoseconds() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

__device__ inline void copy(const Share& share, const void* from, void* to, u64 bytes) {
  const u64 count = bytes / sizeof(Pair);
  u64 i = share.first;
  for (; i + (in_flight - 1) * share.stride < count; i += in_flight * share.stride) {
    Pair pairs[in_flight];
#pragma unroll
    for (u32 k = 0; k < in_flight; ++k) pairs[k] = load(from, i + k * share.stride);
#pragma unroll
    for (u32 k = 0; k < in_flight; ++k) store(to, i + k * share.stride, pairs[k]);
  }
  for (; i < count; i += share.stride) store(to, i, load(from, i));
  if (share.first == 0) {
    const unsigned char* from_bytes = static_cast<const unsigned char*>(from);
    unsigned char* to_bytes = static_cast<unsigned char*>(to);
    for (u64 at = count * sizeof(Pair); at < bytes; ++at) to_bytes[at] = from_bytes[at];
  }
}

}  // namespace

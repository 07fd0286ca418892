// Kernels of the CUDA backend: sum, fill, copy, chase. `make -C kernels/cuda` makes transfer.ptx.
#include "device.cuh"

namespace {

constexpr u32 block_threads = 256;           // the launches in operations.hpp use the same number
constexpr u64 step = 0x9E3779B97F4A7C15ull;  // difference of two neighbouring words of a pattern
constexpr u64 line_bytes = 128;              // distance of two lines that a ring links

__device__ inline Share my_share() {
  u32 blocks;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return {my_thread(), my_block(), u64(my_block()) * block_threads + my_thread(),
          u64(blocks) * block_threads};
}

/// Loads a word past the L1 cache: the GPU's L2 answers for device memory, the host for its own.
__device__ inline u64 load_from_home(u64 address) {
  u64 value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

/// Drops cached data of this processor between sweeps, so that each sweep accesses the memory.
__device__ inline void forget() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// Sums the words of this thread's share; a shorter last word is padded with zeros.
__device__ inline u64 my_sum(const Share& share, const void* data, u64 bytes) {
  const u64 count = bytes / sizeof(Pair);
  u64 sum = 0;
  u64 i = share.first;
  for (; i + (in_flight - 1) * share.stride < count; i += in_flight * share.stride) {
    Pair pairs[in_flight];
#pragma unroll
    for (u32 k = 0; k < in_flight; ++k) pairs[k] = load(data, i + k * share.stride);
#pragma unroll
    for (u32 k = 0; k < in_flight; ++k) sum += pairs[k].low + pairs[k].high;
  }
  for (; i < count; i += share.stride) {
    const Pair pair = load(data, i);
    sum += pair.low + pair.high;
  }
  if (share.first == 0) {
    const unsigned char* all = static_cast<const unsigned char*>(data);
    for (u64 at = count * sizeof(Pair); at < bytes; ++at) sum += u64(all[at]) << (at % 8 * 8);
  }
  return sum;
}

__device__ inline void fill(const Share& share, void* data, u64 bytes, u64 seed) {
  const u64 count = bytes / sizeof(Pair);
  for (u64 i = share.first; i < count; i += share.stride) {
    const u64 low = seed + 2 * i * step;
    store(data, i, Pair{low, low + step});
  }
  if (share.first == 0) {
    unsigned char* all = static_cast<unsigned char*>(data);
    for (u64 at = count * sizeof(Pair); at < bytes; ++at) {
      all[at] = static_cast<unsigned char>((seed + at / 8 * step) >> (at % 8 * 8));
    }
  }
}

}  // namespace

ENTRY isthmus_empty() {}

/// Sums all words over all sweeps. If their number is even, the last sweep counts twice: the same
/// wrong bit in an even number of sweeps could vanish from the sum. Each block stores its sum plus
/// 1 (so never 0), times a key that is new with every launch: an old result cannot pass.
ENTRY isthmus_sum(const void* data, u64 bytes, u64 key, u64* partial, u64 sweeps) {
  __shared__ u64 sums[block_threads];
  const Share share = my_share();
  u64 sum = my_sum(share, data, bytes);
  for (u64 sweep = 1; sweep < sweeps; ++sweep) {
    forget();
    const u64 swept = my_sum(share, data, bytes);
    sum += sweep + 1 == sweeps && sweeps % 2 == 0 ? 2 * swept : swept;
  }
  sums[share.thread] = sum;
  for (u32 half = block_threads / 2; half > 0; half /= 2) {
    wait_for_block();
    if (share.thread < half) sums[share.thread] += sums[share.thread + half];
  }
  if (share.thread == 0) partial[share.block] = (sums[0] + 1) * key;
}

/// Fills a buffer with the pattern of a seed: word i is seed + i * step.
ENTRY isthmus_fill(void* data, u64 bytes, u64 seed, u64 sweeps) {
  const Share share = my_share();
  fill(share, data, bytes, seed);
  for (u64 sweep = 1; sweep < sweeps; ++sweep) {
    forget();
    fill(share, data, bytes, seed);
  }
}

ENTRY isthmus_copy(const void* from, void* to, u64 bytes, u64 sweeps) {
  const Share share = my_share();
  copy(share, from, to, bytes);
  for (u64 sweep = 1; sweep < sweeps; ++sweep) {
    forget();
    copy(share, from, to, bytes);
  }
}

/// Links lines, whose number is a power of two, into one ring. The order is that of a congruential
/// generator of full period (multiplier 1 modulo 4, odd increment): each line once, irregularly.
ENTRY isthmus_link(u64 base, u64 lines, u64 multiplier, u64 increment) {
  const Share share = my_share();
  for (u64 i = share.first; i < lines; i += share.stride) {
    const u64 next = (multiplier * i + increment) & (lines - 1);
    *reinterpret_cast<u64*>(base + i * line_bytes) = base + next * line_bytes;
  }
}

/// Follows a ring from an address by dependent loads. Stores the last address, and the nanoseconds
/// of all loads by the device's clock.
ENTRY isthmus_chase(u64 at, u64 loads, u64* result) {
  const u64 begin = nanoseconds();
  for (u64 i = 0; i < loads; ++i) at = load_from_home(at);
  result[0] = at;  // this store waits for the last load, so that the clock is read after it
  result[1] = nanoseconds() - begin;
}

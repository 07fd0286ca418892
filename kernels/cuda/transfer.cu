// Device code of the CUDA backend. `make -C kernels/cuda` turns it into the PTX beside it.
#include "device.cuh"

namespace {

constexpr u32 block_threads = 256;           // as in operations.hpp
constexpr u64 step = 0x9E3779B97F4A7C15ull;  // between the words of the pattern
constexpr u64 line_bytes = 128;              // between the links of a ring

__device__ inline Share my_share() {
  u32 blocks;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return {my_thread(), my_block(), u64(my_block()) * block_threads + my_thread(),
          u64(blocks) * block_threads};
}

/// A load that the home of the memory answers: device memory its L2, host memory the host.
__device__ inline u64 load_from_home(u64 address) {
  u64 value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

/// Between sweeps: what a processor holds of the memory is let go, so that each sweep goes there.
__device__ inline void forget() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// This thread's part of the sum of all words, a shorter last word padded with zeros.
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

/// Sum of all words over all sweeps, the last of an even number twice: a wrong bit of every sweep
/// times an even number could vanish. Each block leaves its own sum, plus one lest it be 0, times a
/// key that is new with every launch: an old result cannot pass.
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

/// The pattern of this seed: word i is seed + i * step.
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

/// Links a power of two of lines into one ring, in the order of a congruential generator of full
/// period (multiplier 1 modulo 4, odd increment): every line once, by steps that keep changing.
ENTRY isthmus_link(u64 base, u64 lines, u64 multiplier, u64 increment) {
  const Share share = my_share();
  for (u64 i = share.first; i < lines; i += share.stride) {
    const u64 next = (multiplier * i + increment) & (lines - 1);
    *reinterpret_cast<u64*>(base + i * line_bytes) = base + next * line_bytes;
  }
}

/// Follows the ring from an address, one load after the other. Leaves where it came to, and the
/// nanoseconds that it took by the device's own clock.
ENTRY isthmus_chase(u64 at, u64 loads, u64* result) {
  const u64 begin = nanoseconds();
  for (u64 i = 0; i < loads; ++i) at = load_from_home(at);
  result[0] = at;  // before the clock is read: it needs the last load's answer
  result[1] = nanoseconds() - begin;
}

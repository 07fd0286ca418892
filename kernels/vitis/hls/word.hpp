// What the kernels share: 512-bit words, how a buffer is cut into runs, and what is written and
// summed.
//
// Words are AMD's ap_uint where there is one; elsewhere eight 64-bit lanes stand in for it, and any
// C++14 compiler simulates the kernels. Lane 0 has the lowest address.
#pragma once

#include <cstdint>

#if __has_include(<ap_int.h>)
#include <ap_int.h>
using Word = ap_uint<512>;
inline Word zero() { return Word(0); }  // what ap_uint's default constructor leaves is anything
inline std::uint64_t lane(const Word& word, int n) {
  return word.range(64 * n + 63, 64 * n).to_uint64();
}
inline void set_lane(Word& word, int n, std::uint64_t value) {
  word.range(64 * n + 63, 64 * n) = value;
}
#else
struct alignas(64) Word {
  std::uint64_t lanes[8];
};
inline Word zero() { return Word(); }
inline std::uint64_t lane(const Word& word, int n) { return word.lanes[n]; }
inline void set_lane(Word& word, int n, std::uint64_t value) { word.lanes[n] = value; }
#endif

constexpr int lanes = 8;
constexpr int word_bytes = 8 * lanes;
constexpr std::int64_t burst_words = 64;  // 4 KiB, as the interfaces' max_*_burst_length
constexpr std::int64_t small_bytes = 8192;

/// Words moved without a break: bursts one by one in small buffers, else a whole sweep. So the
/// published example does it.
inline std::int64_t run_words(std::int64_t bytes) {
  return bytes <= small_bytes ? burst_words : bytes / word_bytes;
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// The first `bytes` of `first`, and behind them what `second` has there.
inline Word joined(const Word& first, const Word& second, std::int64_t bytes) {
  Word word = second;
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    const std::int64_t taken = bytes - 8 * n;
    const std::uint64_t all = ~std::uint64_t(0);
    const std::uint64_t mask = taken >= 8 ? all : taken <= 0 ? 0 : all >> (64 - 8 * taken);
    set_lane(word, n, (lane(first, n) & mask) | (lane(second, n) & ~mask));
  }
  return word;
}

inline std::uint64_t rotated(std::uint64_t value, int bits) {
  return bits == 0 ? value : (value << bits) | (value >> (64 - bits));
}

/// The checksum after one more word, as card/rtl/read_bandwidth.sv has it.
inline std::uint64_t folded(std::uint64_t checksum, const Word& word) {
  checksum = rotated(checksum, 1);
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    checksum ^= rotated(lane(word, n), n);
  }
  return checksum;
}

/// What sweep `sweep` writes to word `index`, as card/rtl/write_bandwidth.sv has it: in each lane
/// the sweep above 48 bits of the lane's place in the buffer.
inline Word pattern(std::int64_t sweep, std::int64_t index) {
  Word word = zero();
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    const std::uint64_t place = std::uint64_t(lanes * index + n);
    set_lane(word, n, (std::uint64_t(sweep) << 48) | (place & 0xffffffffffff));
  }
  return word;
}

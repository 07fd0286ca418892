// Functions that the kernels share: 512-bit words, lengths of runs, the checksum of words that are
// read, and the pattern of words that are written.
//
// A word is AMD's ap_uint if its header is there. Otherwise it is eight 64-bit lanes, so that any
// C++14 compiler can simulate the kernels. Lane 0 has the lowest address.
#pragma once

#include <cstdint>

#if __has_include(<ap_int.h>)
#include <ap_int.h>
using Word = ap_uint<512>;
inline Word zero() { return Word(0); }  // ap_uint's default constructor leaves the value undefined
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
constexpr std::int64_t burst_words = 64;  // 4 KiB: max_*_burst_length of the kernels' interfaces
constexpr std::int64_t small_bytes = 8192;

/// Number of words that a kernel moves in one pipelined loop: one burst in small buffers, else the
/// whole buffer. The published example does the same.
inline std::int64_t run_words(std::int64_t bytes) {
  return bytes <= small_bytes ? burst_words : bytes / word_bytes;
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// A word with the first `bytes` of `first`, and the other bytes of `second`.
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

/// Adds a word to the checksum; card/rtl/read_bandwidth.sv computes the same.
inline std::uint64_t folded(std::uint64_t checksum, const Word& word) {
  checksum = rotated(checksum, 1);
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    checksum ^= rotated(lane(word, n), n);
  }
  return checksum;
}

/// The word that sweep `sweep` writes at `index`; card/rtl/write_bandwidth.sv writes the same. Each
/// lane has the sweep in its upper 16 bits, and the lane's index in the buffer in the lower 48.
inline Word pattern(std::int64_t sweep, std::int64_t index) {
  Word word = zero();
  for (int n = 0; n < lanes; ++n) {
#pragma HLS UNROLL
    const std::uint64_t place = std::uint64_t(lanes * index + n);
    set_lane(word, n, (std::uint64_t(sweep) << 48) | (place & 0xffffffffffff));
  }
  return word;
}

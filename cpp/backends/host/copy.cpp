#include "copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace isthmus {

void copy_plain(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__x86_64__)

namespace {

constexpr std::size_t line_bytes = 64;

/// Copies whole cache lines by 16-byte stores, which every x86-64 processor has.
void lines_sse2(char* to, const char* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines * line_bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}

__attribute__((target("avx2"))) void lines_avx2(char* to, const char* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    const auto* source = reinterpret_cast<const __m256i*>(from + i * line_bytes);
    auto* target = reinterpret_cast<__m256i*>(to + i * line_bytes);
    const __m256i low = _mm256_loadu_si256(source);
    const __m256i high = _mm256_loadu_si256(source + 1);
    _mm256_stream_si256(target, low);
    _mm256_stream_si256(target + 1, high);
  }
}

}  // namespace

bool has_nontemporal() { return true; }

void copy_nontemporal(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  // The bytes before the target's first whole line and after the last are copied plainly.
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(target) % line_bytes;
  const std::size_t head = std::min(misaligned == 0 ? 0 : line_bytes - misaligned, bytes);
  std::memcpy(target, source, head);
  const std::size_t lines = (bytes - head) / line_bytes;
  static const bool avx2 = __builtin_cpu_supports("avx2");
  (avx2 ? lines_avx2 : lines_sse2)(target + head, source + head, lines);
  const std::size_t done = head + lines * line_bytes;
  std::memcpy(target + done, source + done, bytes - done);
  _mm_sfence();
}

#else

bool has_nontemporal() { return false; }
void copy_nontemporal(void* to, const void* from, std::size_t bytes) {
  copy_plain(to, from, bytes);
}

#endif

}  // namespace isthmus

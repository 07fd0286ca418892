// Adds vectors of offloads on the host, and owns the host memory of such vectors.
#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/offload.hpp"

namespace isthmus {
namespace {

constexpr std::uint32_t odd_a = 0x9E3779B1U;
constexpr std::uint32_t odd_b = 0x85EBCA77U;

std::int32_t operand(std::uint32_t odd, std::uint32_t seed, std::size_t index) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(index) * odd + seed);
}
std::uint32_t seed_a(std::uint64_t seed) { return static_cast<std::uint32_t>(seed); }
std::uint32_t seed_b(std::uint64_t seed) { return static_cast<std::uint32_t>(seed >> 32U) | 1U; }

/// Adds and wraps around on overflow, as the kernels on devices do.
std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

std::int32_t wanted(std::uint64_t seed, std::size_t index) {
  return sum(operand(odd_a, seed_a(seed), index), operand(odd_b, seed_b(seed), index));
}

}  // namespace

void populate(const Vectors& vectors, std::uint64_t seed) {
  for (std::size_t i = 0; i < vectors.elements; ++i) {
    vectors.a[i] = operand(odd_a, seed_a(seed), i);
    vectors.b[i] = operand(odd_b, seed_b(seed), i);
  }
}

void spoil(const Vectors& vectors, std::uint64_t seed) {
  for (std::size_t i = 0; i < vectors.elements; ++i) {
    vectors.c[i] = ~wanted(seed, i);
  }
}

bool adds_up(const Vectors& vectors, std::uint64_t seed) {
  for (std::size_t i = 0; i < vectors.elements; ++i) {
    if (vectors.c[i] != wanted(seed, i)) {
      return false;
    }
  }
  return true;
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void software_vadd(const Vectors& vectors) {
#if defined(__clang__)
#pragma clang loop vectorize(disable) interleave(disable)
#endif
  for (std::size_t i = 0; i < vectors.elements; ++i) {
    vectors.c[i] = sum(vectors.a[i], vectors.b[i]);
  }
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
// The loader picks a clone by the processor before the thread sanitizer has started.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
void software_vadd_simd(const Vectors& vectors) {
  const Element* const a = vectors.a;
  const Element* const b = vectors.b;
  Element* const __restrict c = vectors.c;
  for (std::size_t i = 0; i < vectors.elements; ++i) {
    c[i] = sum(a[i], b[i]);
  }
}

HostVectors::HostVectors(const std::string& kind, std::size_t elements, std::size_t relative_offset)
    : elements_(elements),
      relative_offset_(relative_offset),
      a_(kind, elements * sizeof(Element)),
      b_(kind, elements * sizeof(Element)),
      c_(kind, elements * sizeof(Element) + relative_offset) {}

Vectors HostVectors::get() const {
  // `get` is const but returns writable vectors: their buffers are not part of this object.
  auto& self = const_cast<HostVectors&>(*this);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return {.a = reinterpret_cast<Element*>(self.a_.data()),
          .b = reinterpret_cast<Element*>(self.b_.data()),
          .c = reinterpret_cast<Element*>(self.c_.data() + relative_offset_),
          .elements = elements_};
}

}  // namespace isthmus

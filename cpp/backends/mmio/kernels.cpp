#include "kernels.hpp"

#include <array>
#include <string_view>

#include "cpuid.hpp"

// Makes each loop a symbol that disassemblers show, e.g. isthmus_load_mov_8_lfence_dependent.
#define ISTHMUS_SYMBOL extern "C" __attribute__((visibility("default"), noinline)) void

// Computes the next address from the loaded value. Processors do not treat `and` with zero as an
// idiom, so the next load waits for this one.
#define ISTHMUS_DEPEND "andq $0, %%rax\n\taddq %%rax, %[at]\n\t"

// Loops over the block; the jump back to its beginning keeps the address dependency.
#define ISTHMUS_LOOP(name, width, setup, access, after_each, after_all)            \
  ISTHMUS_SYMBOL name(std::byte* at, std::size_t bytes, std::uint64_t repetitions, \
                      const std::byte* line) {                                     \
    const std::byte* const end = at + bytes;                                       \
    for (; repetitions > 0; --repetitions) {                                       \
      asm volatile(setup "1:\n\t" access "\n\t" after_each "addq $" #width         \
                         ", %[at]\n\tcmpq %[end], %[at]\n\tjb 1b\n\t" after_all    \
                   : [at] "+r"(at)                                                 \
                   : [end] "r"(end), [line] "r"(line)                              \
                   : "rax", "rdx", "xmm0", "cc", "memory");                        \
      at -= bytes;                                                                 \
    }                                                                              \
  }

#define ISTHMUS_LOADS(name, width, load, to_rax, done)                                          \
  ISTHMUS_LOOP(isthmus_load_##name##_##width##_none_dependent, width, "", load,                 \
               to_rax ISTHMUS_DEPEND, done)                                                     \
  ISTHMUS_LOOP(isthmus_load_##name##_##width##_lfence_dependent, width, "", load, "lfence\n\t", \
               done)                                                                            \
  ISTHMUS_LOOP(isthmus_load_##name##_##width##_mfence_dependent, width, "", load, "mfence\n\t", \
               done)                                                                            \
  ISTHMUS_LOOP(isthmus_load_##name##_##width##_none_pipelined, width, "", load, "", done)

#define ISTHMUS_STORES(name, width, setup, store, done)                                        \
  ISTHMUS_LOOP(isthmus_store_##name##_##width##_none_pipelined, width, setup, store, "", done) \
  ISTHMUS_LOOP(isthmus_store_##name##_##width##_sfence_pipelined, width, setup, store, "",     \
               "sfence\n\t" done)                                                              \
  ISTHMUS_LOOP(isthmus_store_##name##_##width##_sfence_dependent, width, setup, store,         \
               "sfence\n\t", done)                                                             \
  ISTHMUS_LOOP(isthmus_store_##name##_##width##_mfence_dependent, width, setup, store,         \
               "mfence\n\t", done)

#define ISTHMUS_FROM_RDX "movq (%[line]), %%rdx\n\t"
#define ISTHMUS_FROM_XMM "movdqa (%[line]), %%xmm0\n\t"
#define ISTHMUS_FROM_YMM "vmovdqa (%[line]), %%ymm0\n\t"
#define ISTHMUS_FROM_ZMM "vmovdqa64 (%[line]), %%zmm0\n\t"
#define ISTHMUS_XMM_TO_RAX "movq %%xmm0, %%rax\n\t"
#define ISTHMUS_UPPER_DONE "vzeroupper\n\t"

ISTHMUS_LOADS(mov, 1, "movzbl (%[at]), %%eax", "", "")
ISTHMUS_LOADS(mov, 2, "movzwl (%[at]), %%eax", "", "")
ISTHMUS_LOADS(mov, 4, "movl (%[at]), %%eax", "", "")
ISTHMUS_LOADS(mov, 8, "movq (%[at]), %%rax", "", "")
ISTHMUS_LOADS(movdqa, 16, "movdqa (%[at]), %%xmm0", ISTHMUS_XMM_TO_RAX, "")
ISTHMUS_LOADS(movdqa, 32, "vmovdqa (%[at]), %%ymm0", ISTHMUS_XMM_TO_RAX, ISTHMUS_UPPER_DONE)
ISTHMUS_LOADS(movdqa, 64, "vmovdqa64 (%[at]), %%zmm0", ISTHMUS_XMM_TO_RAX, ISTHMUS_UPPER_DONE)
ISTHMUS_LOADS(movntdqa, 16, "movntdqa (%[at]), %%xmm0", ISTHMUS_XMM_TO_RAX, "")
ISTHMUS_LOADS(movntdqa, 32, "vmovntdqa (%[at]), %%ymm0", ISTHMUS_XMM_TO_RAX, ISTHMUS_UPPER_DONE)
ISTHMUS_LOADS(movntdqa, 64, "vmovntdqa (%[at]), %%zmm0", ISTHMUS_XMM_TO_RAX, ISTHMUS_UPPER_DONE)

ISTHMUS_STORES(mov, 1, ISTHMUS_FROM_RDX, "movb %%dl, (%[at])", "")
ISTHMUS_STORES(mov, 2, ISTHMUS_FROM_RDX, "movw %%dx, (%[at])", "")
ISTHMUS_STORES(mov, 4, ISTHMUS_FROM_RDX, "movl %%edx, (%[at])", "")
ISTHMUS_STORES(mov, 8, ISTHMUS_FROM_RDX, "movq %%rdx, (%[at])", "")
ISTHMUS_STORES(movdqa, 16, ISTHMUS_FROM_XMM, "movdqa %%xmm0, (%[at])", "")
ISTHMUS_STORES(movdqa, 32, ISTHMUS_FROM_YMM, "vmovdqa %%ymm0, (%[at])", ISTHMUS_UPPER_DONE)
ISTHMUS_STORES(movdqa, 64, ISTHMUS_FROM_ZMM, "vmovdqa64 %%zmm0, (%[at])", ISTHMUS_UPPER_DONE)
ISTHMUS_STORES(movnti, 4, ISTHMUS_FROM_RDX, "movntil %%edx, (%[at])", "")
ISTHMUS_STORES(movnti, 8, ISTHMUS_FROM_RDX, "movntiq %%rdx, (%[at])", "")
ISTHMUS_STORES(movntdq, 16, ISTHMUS_FROM_XMM, "movntdq %%xmm0, (%[at])", "")
ISTHMUS_STORES(movntdq, 32, ISTHMUS_FROM_YMM, "vmovntdq %%ymm0, (%[at])", ISTHMUS_UPPER_DONE)
ISTHMUS_STORES(movntdq, 64, ISTHMUS_FROM_ZMM, "vmovntdq %%zmm0, (%[at])", ISTHMUS_UPPER_DONE)
ISTHMUS_STORES(movdir64b, 64, "", "movdir64b (%[line]), %[at]", "")

namespace isthmus::mmio {
namespace {

struct Known {
  const char* instruction;
  const char* fence;
  Loop loop;
  unsigned width;
  bool pipelined;
  bool stores;
};

#define ISTHMUS_KNOWN_LOADS(name, width)                                                           \
  Known{#name, "none", isthmus_load_##name##_##width##_none_dependent, width, false, false},       \
      Known{                                                                                       \
          #name, "lfence", isthmus_load_##name##_##width##_lfence_dependent, width, false, false}, \
      Known{                                                                                       \
          #name, "mfence", isthmus_load_##name##_##width##_mfence_dependent, width, false, false}, \
      Known {                                                                                      \
    #name, "none", isthmus_load_##name##_##width##_none_pipelined, width, true, false              \
  }

#define ISTHMUS_KNOWN_STORES(name, width)                                                          \
  Known{#name, "none", isthmus_store_##name##_##width##_none_pipelined, width, true, true},        \
      Known{                                                                                       \
          #name, "sfence", isthmus_store_##name##_##width##_sfence_pipelined, width, true, true},  \
      Known{                                                                                       \
          #name, "sfence", isthmus_store_##name##_##width##_sfence_dependent, width, false, true}, \
      Known {                                                                                      \
    #name, "mfence", isthmus_store_##name##_##width##_mfence_dependent, width, false, true         \
  }

constexpr auto known =
    std::to_array<Known>({ISTHMUS_KNOWN_LOADS(mov, 1),        ISTHMUS_KNOWN_LOADS(mov, 2),
                          ISTHMUS_KNOWN_LOADS(mov, 4),        ISTHMUS_KNOWN_LOADS(mov, 8),
                          ISTHMUS_KNOWN_LOADS(movdqa, 16),    ISTHMUS_KNOWN_LOADS(movdqa, 32),
                          ISTHMUS_KNOWN_LOADS(movdqa, 64),    ISTHMUS_KNOWN_LOADS(movntdqa, 16),
                          ISTHMUS_KNOWN_LOADS(movntdqa, 32),  ISTHMUS_KNOWN_LOADS(movntdqa, 64),
                          ISTHMUS_KNOWN_STORES(mov, 1),       ISTHMUS_KNOWN_STORES(mov, 2),
                          ISTHMUS_KNOWN_STORES(mov, 4),       ISTHMUS_KNOWN_STORES(mov, 8),
                          ISTHMUS_KNOWN_STORES(movdqa, 16),   ISTHMUS_KNOWN_STORES(movdqa, 32),
                          ISTHMUS_KNOWN_STORES(movdqa, 64),   ISTHMUS_KNOWN_STORES(movnti, 4),
                          ISTHMUS_KNOWN_STORES(movnti, 8),    ISTHMUS_KNOWN_STORES(movntdq, 16),
                          ISTHMUS_KNOWN_STORES(movntdq, 32),  ISTHMUS_KNOWN_STORES(movntdq, 64),
                          ISTHMUS_KNOWN_STORES(movdir64b, 64)});

bool has(std::string_view instruction, unsigned width) {
  const bool streams = instruction == "movntdqa";
  if (instruction == "movdir64b") {
    return cpuid_ecx(7, 28);  // Intel SDM vol. 2, MOVDIR64B
  }
  const bool sse41 = __builtin_cpu_supports("sse4.1");  // a number in GCC
  const bool avx = __builtin_cpu_supports("avx");
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool avx512 = __builtin_cpu_supports("avx512f");
  switch (width) {
    case 64:
      return avx512;
    case 32:
      return streams ? avx2 : avx;
    default:
      return sse41 || !streams;
  }
}

}  // namespace

Loop loop_of(const Access& access) {
  for (const Known& entry : known) {
    if (access.instruction == entry.instruction && access.width == entry.width &&
        access.fence == entry.fence && access.pipelined == entry.pipelined &&
        access.stores() == entry.stores) {
      return has(entry.instruction, entry.width) ? entry.loop : nullptr;
    }
  }
  return nullptr;
}

}  // namespace isthmus::mmio

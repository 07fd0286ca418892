#include "redirection.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace isthmus::card::clock {
namespace {

constexpr std::size_t call_bytes = 5;
constexpr std::size_t jump_bytes = 14;
constexpr std::size_t most = 18;

/// The target of a call or a jump, null where the bytes are neither.
const unsigned char* target_of(const unsigned char* code) {
  std::int32_t distance = 0;
  std::memcpy(&distance, code + 1, sizeof(distance));
  return *code == 0xE8 || *code == 0xE9 ? code + call_bytes + distance : nullptr;
}

/// Memory so near to the code that its calls reach it; null where there is none.
unsigned char* memory_near(unsigned char* code, std::size_t bytes) {
  constexpr std::ptrdiff_t step = std::ptrdiff_t{1} << 20U;
  unsigned char* const aligned = code - reinterpret_cast<std::uintptr_t>(code) % step;
  for (std::ptrdiff_t away = step; away < 1024 * step; away += step) {
    void* const got = mmap(aligned - away, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED) {
      return static_cast<unsigned char*>(got);
    }
  }
  return nullptr;
}

void write_jump(unsigned char* at, const void* target) {
  constexpr std::array<unsigned char, 6> jump = {0xFF, 0x25, 0, 0, 0, 0};  // to what lies behind
  static_assert(jump.size() + sizeof(target) == jump_bytes);
  std::ranges::copy(jump, at);
  std::memcpy(at + jump.size(), static_cast<const void*>(&target), sizeof(target));
}

/// Leads a call elsewhere.
void lead(unsigned char* call, const unsigned char* to) {
  const auto distance = static_cast<std::int32_t>(to - (call + call_bytes));
  std::memcpy(call + 1, &distance, sizeof(distance));
}

bool protect(std::span<unsigned char> code, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(code.data()) % page;
  // NOLINTNEXTLINE(*-security.MmapWriteExec): code that runs is changed
  return mprotect(code.data() - before, before + code.size(), protection) == 0;
}

}  // namespace

void redirect_calls(void* library, std::span<unsigned char> code,
                    std::span<const Redirection> all) {
  constexpr std::size_t room = most * jump_bytes;
  std::array<void*, most> originals{};
  for (std::size_t index = 0; index < all.size(); ++index) {
    originals[index] = dlsym(library, all[index].name);
    if (originals[index] == nullptr) {
      return;
    }
  }
  // Each must be called there: where a call is none that we know, ours would see a part of them.
  std::array<bool, most> called{};
  const auto for_each_call = [&](const auto& act) {
    for (std::size_t at = 0; at + call_bytes <= code.size(); ++at) {
      const void* const target = target_of(&code[at]);
      const auto* const found = std::ranges::find(originals, target);
      if (target != nullptr && found != originals.end()) {
        act(&code[at], static_cast<std::size_t>(found - originals.begin()));
      }
    }
  };
  for_each_call([&](const unsigned char*, std::size_t index) { called[index] = true; });
  if (!std::ranges::all_of(std::span(called).first(all.size()), std::identity{})) {
    return;
  }
  unsigned char* const jumps = memory_near(code.data(), room);
  if (jumps == nullptr) {
    return;
  }
  // Other threads may run there meanwhile.
  if (!protect(code, PROT_READ | PROT_WRITE | PROT_EXEC)) {
    munmap(jumps, room);
    return;
  }
  for (std::size_t index = 0; index < all.size(); ++index) {
    *all[index].original = originals[index];
    write_jump(jumps + index * jump_bytes, all[index].ours);
  }
  mprotect(jumps, room, PROT_READ | PROT_EXEC);
  for_each_call(
      [&](unsigned char* call, std::size_t index) { lead(call, jumps + index * jump_bytes); });
  protect(code, PROT_READ | PROT_EXEC);
}

}  // namespace isthmus::card::clock

#include "redirection.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace isthmus::card::clock {
namespace {

constexpr std::size_t bytes = 4096;

/// Memory for code that reaches a function by direct jumps.
unsigned char* memory_near(void* function) {
  constexpr std::uintptr_t step = std::uintptr_t{1} << 20U;
  const std::uintptr_t there = reinterpret_cast<std::uintptr_t>(function) / step * step;
  for (std::uintptr_t away = step; away < 1024 * step; away += step) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    void* const got = mmap(reinterpret_cast<void*>(there - away), bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED) {
      return static_cast<unsigned char*>(got);
    }
  }
  return nullptr;
}

void write_jump(unsigned char* at, const void* target) {
  const auto distance =
      static_cast<std::int32_t>(static_cast<const unsigned char*>(target) - (at + 5));
  *at = 0xE9;
  std::memcpy(at + 1, &distance, sizeof(distance));
}

pid_t our_id() { return -1; }
pid_t our_parent() { return -2; }

TEST_CASE("Calls are led only where each of the functions is called") {
  void* const library = dlopen("libc.so.6", RTLD_NOW);
  REQUIRE(library != nullptr);
  unsigned char* const code = memory_near(dlsym(library, "getpid"));
  REQUIRE(code != nullptr);
  unsigned char* const second = code + 16;
  write_jump(code, dlsym(library, "getpid"));

  void* id = nullptr;
  void* parent = nullptr;
  const std::array all = {Redirection{"getpid", address_of(our_id), &id},
                          Redirection{"getppid", address_of(our_parent), &parent}};
  redirect_calls(library, {code, bytes}, all);
  CHECK(id == nullptr);
  CHECK(parent == nullptr);
  REQUIRE(mprotect(code, bytes, PROT_READ | PROT_EXEC) == 0);
  CHECK(as<pid_t()>(code)() == getpid());

  REQUIRE(mprotect(code, bytes, PROT_READ | PROT_WRITE) == 0);
  write_jump(second, dlsym(library, "getppid"));
  redirect_calls(library, {code, bytes}, all);
  CHECK(as<pid_t()>(code)() == -1);
  CHECK(as<pid_t()>(second)() == -2);
  CHECK(as<pid_t()>(id)() == getpid());
  CHECK(as<pid_t()>(parent)() == getppid());
  munmap(code, bytes);
}

}  // namespace
}  // namespace isthmus::card::clock

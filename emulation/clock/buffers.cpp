// Populates the memory that XRT allocates for a program's buffers. A board's driver pins a buffer
// when it is made, and the system allocates its pages then. Here the device process charges the
// time for that (`offload.pin_ns`). So this library populates the pages outside the program's time.
// Otherwise the program would pay again, at its first touch of each page.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "calls.hpp"
#include "library.hpp"
#include "real.hpp"

namespace {

using namespace isthmus::card::clock;

constinit Real<void*(std::size_t, std::size_t)> real_aligned_alloc("aligned_alloc");
constinit Real<int(void**, std::size_t, std::size_t)> real_memalign("posix_memalign");

constexpr std::size_t page_bytes = 4096;
/// MADV_POPULATE_WRITE of Linux 5.14, which older headers lack.
constexpr int populate_for_writing = 23;
/// Buffers of more than this part (1 / largest_share) of the available memory are not populated: a
/// program may never touch them.
constexpr std::size_t largest_share = 4;

/// Returns MemAvailable of /proc/meminfo in bytes; 0 if it cannot be read.
std::size_t available_bytes() {
  constexpr const char* name = "MemAvailable:";
  std::array<char, 1024> text{};
  const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const ssize_t got = read(file, text.data(), text.size() - 1);
  close(file);
  const char* const found = got > 0 ? std::strstr(text.data(), name) : nullptr;
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(name), nullptr, 10) * 1024;
}

/// Populates the pages of fresh memory, outside the program's time.
void populate(void* memory, std::size_t bytes) {
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t skipped =
      (page_bytes - reinterpret_cast<std::uintptr_t>(begin) % page_bytes) % page_bytes;
  if (bytes < skipped + page_bytes) {
    return;
  }
  const bool counted = program_time.count(false);
  if (bytes < available_bytes() / largest_share) {
    const std::size_t pages = (bytes - skipped) / page_bytes;
    if (madvise(begin + skipped, pages * page_bytes, populate_for_writing) != 0) {
      for (std::size_t page = 0; page < pages; ++page) {
        *const_cast<volatile std::byte*>(begin + skipped + page * page_bytes) = std::byte{0};
      }
    }
  }
  program_time.count(counted);
}

bool is_buffer(const void* caller) { return has_card() && in_runtime(caller); }

}  // namespace

ISTHMUS_INTERPOSED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* const memory = real_aligned_alloc(alignment, bytes);
  if (memory != nullptr && is_buffer(__builtin_return_address(0))) {
    populate(memory, bytes);
  }
  return memory;
}

ISTHMUS_INTERPOSED int posix_memalign(void** memory, std::size_t alignment,
                                      std::size_t bytes) noexcept {
  const int failed = real_memalign(memory, alignment, bytes);
  if (failed == 0 && is_buffer(__builtin_return_address(0))) {
    populate(*memory, bytes);
  }
  return failed;
}

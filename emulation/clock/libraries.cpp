#include "libraries.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isthmus::card::clock {
namespace {

/// Addresses of a library's code; empty until the library has been found.
struct Library {
  std::string_view name;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;

  [[nodiscard]] bool has(const void* code) const {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    const std::uintptr_t start = begin.load(std::memory_order_relaxed);
    return start != 0 && address >= start && address < end.load(std::memory_order_relaxed);
  }
};
/// The shim's library, which XRT loads by one of two names: libxrt_core or libxrt_hwemu.
constinit std::array<Library, 2> shims = {
    {{.name = "libxrt_core.so"}, {.name = "libxrt_hwemu.so"}}};
constinit std::array<Library, 3> of_xrt = {
    {{.name = "libxrt_coreutil.so"}, {.name = "libxilinxopencl.so"}, {.name = "libxrt++.so"}}};

std::string_view file_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path;
}

template <class Libraries>
void enter(Libraries& libraries, const dl_phdr_info& object) {
  const std::string_view file = file_of(object.dlpi_name);
  auto* const entry = std::ranges::find_if(
      libraries, [file](const Library& library) { return file.starts_with(library.name); });
  if (entry == libraries.end()) {
    return;
  }
  for (unsigned index = 0; index < object.dlpi_phnum; ++index) {
    const auto& segment = object.dlpi_phdr[index];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
      entry->end = start + segment.p_memsz;
      entry->begin = start;
    }
  }
}

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* /*none*/) {
  enter(shims, *object);
  enter(of_xrt, *object);
  return 0;
}

template <class Libraries>
bool any_has(const Libraries& libraries, const void* code) {
  return std::ranges::any_of(libraries,
                             [code](const Library& library) { return library.has(code); });
}

}  // namespace

void learn_libraries() { dl_iterate_phdr(look_at, nullptr); }

bool in_shim(const void* code) { return any_has(shims, code); }
bool in_xrt(const void* code) { return any_has(of_xrt, code); }

}  // namespace isthmus::card::clock

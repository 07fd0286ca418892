// What XRT's emulation shim does otherwise than a board's driver: it closes a card for all when one
// of those that opened it closes it; it loads another bitstream below open kernels, which then run
// whatever lies at their address; and it loads the bitstream that is there anew, so that buffers
// lose what they hold. The shim calls its own functions directly, so those calls are led here:
// where they are, by the targets that they have.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "calls.hpp"
#include "isthmus/card/process/page.hpp"
#include "library.hpp"
#include "lock.hpp"
#include "real.hpp"

namespace isthmus::card::clock {
namespace {

constexpr std::size_t uuid_bytes = 16;
/// Of the UUID in an xclbin.
constexpr std::size_t uuid_offset = 416;

/// A card as XRT has opened it.
struct Handle {
  void* handle = nullptr;
  unsigned opened = 0;
  unsigned contexts = 0;  ///< of kernels
  bool loaded = false;
  std::array<unsigned char, uuid_bytes> uuid{};  ///< of the bitstream that is loaded
};
constinit std::array<Handle, process::most_cards> handles{};
constinit std::atomic<bool> locked = false;

/// The entry of a handle, a free one where there is none yet; null where all are used.
Handle* entry_of(void* handle) {
  auto* const known = std::ranges::find(handles, handle, &Handle::handle);
  auto* const found =
      known != handles.end() ? known : std::ranges::find(handles, nullptr, &Handle::handle);
  if (found == handles.end()) {
    return nullptr;
  }
  found->handle = handle;
  return &*found;
}

void* (*original_open)(unsigned, const char*, int) = nullptr;
void (*original_close)(void*) = nullptr;
int (*original_load)(void*, const unsigned char*) = nullptr;

void* open_card(unsigned index, const char* log, int level) {
  void* const handle = original_open(index, log, level);
  const Locked lock(locked);
  if (Handle* entry = handle == nullptr ? nullptr : entry_of(handle)) {
    ++entry->opened;
  }
  return handle;
}

void close_card(void* handle) {
  {
    const Locked lock(locked);
    Handle* const entry = entry_of(handle);
    if (entry != nullptr && entry->opened > 1) {
      --entry->opened;
      return;
    }
    if (entry != nullptr) {
      *entry = {};
    }
  }
  original_close(handle);
}

int open_context(void* handle, const unsigned char* /*uuid*/, unsigned /*unit*/, bool /*shared*/) {
  const Locked lock(locked);
  if (Handle* entry = entry_of(handle)) {
    ++entry->contexts;
  }
  return 0;
}

int close_context(void* handle, const unsigned char* /*uuid*/, unsigned /*unit*/) {
  const Locked lock(locked);
  Handle* const entry = entry_of(handle);
  if (entry != nullptr && entry->contexts > 0) {
    --entry->contexts;
  }
  return 0;
}

int load_bitstream(void* handle, const unsigned char* xclbin) {
  const unsigned char* const uuid = xclbin + uuid_offset;
  {
    const Locked lock(locked);
    const Handle* const entry = entry_of(handle);
    if (entry != nullptr && entry->loaded) {
      if (std::equal(entry->uuid.begin(), entry->uuid.end(), uuid)) {
        return 0;
      }
      if (entry->contexts > 0) {
        constexpr std::string_view text =
            "isthmus: emulated card: a bitstream is loaded while kernels of another one are open; "
            "as on a board that is refused (device or resource busy)\n";
        [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
        return -EBUSY;
      }
    }
  }
  const int result = original_load(handle, xclbin);
  const Locked lock(locked);
  if (Handle* entry = entry_of(handle)) {
    entry->loaded = result == 0;
    std::copy_n(uuid, uuid_bytes, entry->uuid.begin());
  }
  return result;
}

struct Redirection {
  const char* name;
  const void* ours;
  const unsigned char* original = nullptr;
};

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

constexpr std::size_t call_bytes = 5;

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

/// Writes a jump to `target`; what it takes.
std::size_t write_jump(unsigned char* at, const void* target) {
  constexpr std::array<unsigned char, 6> jump = {0xFF, 0x25, 0, 0, 0, 0};  // to what lies behind
  std::ranges::copy(jump, at);
  std::memcpy(at + jump.size(), static_cast<const void*>(&target), sizeof(target));
  return jump.size() + sizeof(target);
}

/// Leads a call elsewhere.
void lead(unsigned char* call, const unsigned char* to) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char* const pages = call - reinterpret_cast<std::uintptr_t>(call) % page;
  // Other threads may run there meanwhile. NOLINTNEXTLINE(*-security.MmapWriteExec)
  if (mprotect(pages, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
    const auto distance = static_cast<std::int32_t>(to - (call + call_bytes));
    std::memcpy(call + 1, &distance, sizeof(distance));
    mprotect(pages, 2 * page, PROT_READ | PROT_EXEC);
  }
}

constinit Real<int(void (*)(void*), void*, void*)> real_atexit("__cxa_atexit");

}  // namespace

void redirect_calls(void* library, std::span<unsigned char> code) {
  std::array<Redirection, 5> all = {{{"xclOpen", address_of(open_card)},
                                     {"xclClose", address_of(close_card)},
                                     {"xclLoadXclBin", address_of(load_bitstream)},
                                     {"xclOpenContext", address_of(open_context)},
                                     {"xclCloseContext", address_of(close_context)}}};
  for (Redirection& each : all) {
    each.original = static_cast<const unsigned char*>(dlsym(library, each.name));
    if (each.original == nullptr) {
      return;
    }
  }
  constexpr std::size_t room = 256;
  unsigned char* const jumps = memory_near(code.data(), room);
  if (jumps == nullptr) {
    return;
  }
  original_open = reinterpret_cast<decltype(original_open)>(dlsym(library, all[0].name));
  original_close = reinterpret_cast<decltype(original_close)>(dlsym(library, all[1].name));
  original_load = reinterpret_cast<decltype(original_load)>(dlsym(library, all[2].name));
  std::array<unsigned char*, all.size()> places{};
  unsigned char* end = jumps;
  for (std::size_t index = 0; index < all.size(); ++index) {
    places[index] = end;
    end += write_jump(end, all[index].ours);
  }
  mprotect(jumps, room, PROT_READ | PROT_EXEC);
  for (std::size_t at = 0; at + call_bytes <= code.size(); ++at) {
    const unsigned char* const target = target_of(&code[at]);
    auto* const found = std::ranges::find(all, target, &Redirection::original);
    if (target != nullptr && found != all.end()) {
      lead(&code[at], places[static_cast<std::size_t>(found - all.begin())]);
    }
  }
}

}  // namespace isthmus::card::clock

/// Static objects of the shim are made when it is loaded, before any card is opened.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*)
ISTHMUS_INTERPOSED int __cxa_atexit(void (*function)(void*), void* argument, void* object) {
  using namespace isthmus::card::clock;
  if (page() != nullptr) {
    learn_shim(__builtin_return_address(0));
  }
  return real_atexit(function, argument, object);
}

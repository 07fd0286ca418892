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
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "calls.hpp"
#include "isthmus/card/process/page.hpp"
#include "library.hpp"
#include "lock.hpp"
#include "real.hpp"
#include "redirection.hpp"

namespace isthmus::card::clock {
namespace {

constexpr std::size_t uuid_bytes = 16;
/// Of the UUID in an xclbin.
constexpr std::size_t uuid_offset = 416;

/// A card as XRT has opened it.
struct Handle {
  void* handle = nullptr;
  unsigned card = 0;  ///< N of XRT's device N
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

constinit void* original_open = nullptr;
constinit void* original_close = nullptr;
constinit void* original_load = nullptr;
constinit void* original_open_context = nullptr;  // never called
constinit void* original_close_context = nullptr;

/// How many cards the session has: each has a file of its board's parameters.
unsigned count_of_cards(const char* session) {
  std::array<char, PATH_MAX> file{};
  unsigned count = 0;
  const auto is_there = [&] {
    const int length = std::snprintf(file.data(), file.size(), "%s/card%u.board", session, count);
    return length > 0 && std::cmp_less(length, file.size()) && ::access(file.data(), F_OK) == 0;
  };
  while (is_there()) {
    ++count;
  }
  return count;
}

/// Whether there is such a card; says it where there is none. XRT's shim would open any.
bool is_card(unsigned index) {
  const char* const session = std::getenv(folder_variable);
  const unsigned count = session == nullptr ? 0 : count_of_cards(session);
  if (count == 0 || index < count) {
    return true;
  }
  std::array<char, 128> text{};
  const int length =
      std::snprintf(text.data(), text.size(),
                    "isthmus: emulated card: there is no device %u; the number of cards is %u, "
                    "the first is device 0\n",
                    index, count);
  [[maybe_unused]] const ssize_t told =
      ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length));
  return false;
}

void* open_card(unsigned index, const char* log, int level) {
  if (!is_card(index)) {
    return nullptr;
  }
  void* const handle = as<decltype(open_card)>(original_open)(index, log, level);
  const Locked lock(locked);
  if (Handle* entry = handle == nullptr ? nullptr : entry_of(handle)) {
    entry->card = index;
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
  as<decltype(close_card)>(original_close)(handle);
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
  Handle before;
  {
    const Locked lock(locked);
    if (const Handle* entry = entry_of(handle)) {
      before = *entry;
    }
  }
  if (before.loaded) {
    if (std::equal(before.uuid.begin(), before.uuid.end(), uuid)) {
      return 0;
    }
    // Runs whose kernels were closed may go on.
    if (before.contexts > 0 || !end_kernels(handle, before.card)) {
      constexpr std::string_view open =
          "isthmus: emulated card: a bitstream is loaded while kernels of another one are open; "
          "as on a board that is refused (device or resource busy)\n";
      constexpr std::string_view running =
          "isthmus: emulated card: a bitstream is loaded while a kernel of another one runs; "
          "that is refused (device or resource busy): wait for it first\n";
      const std::string_view text = before.contexts > 0 ? open : running;
      [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
      return -EBUSY;
    }
  }
  const int result = as<decltype(load_bitstream)>(original_load)(handle, xclbin);
  const Locked lock(locked);
  if (Handle* entry = entry_of(handle)) {
    entry->loaded = result == 0;
    std::copy_n(uuid, uuid_bytes, entry->uuid.begin());
  }
  return result;
}

constinit void* original_assign = nullptr;

/// XRT's OpenCL notes with a buffer that it is a kernel's argument. A null one is no buffer: OpenCL
/// gives the kernel a null pointer (clSetKernelArg).
void assign_buffer(void* kernel, void* buffer, unsigned long argument) {
  if (buffer != nullptr) {
    as<decltype(assign_buffer)>(original_assign)(kernel, buffer, argument);
  }
}

constinit Real<int(void (*)(void*), void*, void*)> real_atexit("__cxa_atexit");

}  // namespace

void redirect_opencl(void* library, std::span<unsigned char> code) {
  const std::array all = {Redirection{"_ZN4xocl6kernel23assign_buffer_to_argidxEPNS_6memoryEm",
                                      address_of(assign_buffer), &original_assign}};
  redirect_calls(library, code, all);
}

void redirect_shim(void* library, std::span<unsigned char> code) {
  const std::array all = {
      Redirection{"xclOpen", address_of(open_card), &original_open},
      Redirection{"xclClose", address_of(close_card), &original_close},
      Redirection{"xclLoadXclBin", address_of(load_bitstream), &original_load},
      Redirection{"xclOpenContext", address_of(open_context), &original_open_context},
      Redirection{"xclCloseContext", address_of(close_context), &original_close_context}};
  redirect_calls(library, code, all);
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

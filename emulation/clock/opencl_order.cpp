#include "opencl_order.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <span>

#include "lock.hpp"
#include "warning.hpp"

namespace isthmus::card::clock {
namespace {

// Flags of cl.h: CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY.
constexpr std::uint64_t write_only = 2;
constexpr std::uint64_t read_only = 4;

struct Queue {
  const void* handle = nullptr;
};
struct Buffer {
  const void* handle = nullptr;
  std::uint64_t flags = 0;
  std::size_t bytes = 0;
  /// Whether XRT may count the buffer as resident on the card. XRT's OpenCL migrates the other
  /// arguments of a kernel before the kernel starts.
  bool is_resident = false;
};
using Name = std::array<char, 64>;
struct Kernel {
  const void* handle = nullptr;
  Name name{};
  std::array<const void*, 16> buffers{};  ///< by the number of the argument
};
/// A command in an out-of-order queue that may not have ended: a kernel with a buffer, or a
/// transfer to it.
struct Pending {
  const void* queue = nullptr;
  const void* buffer = nullptr;
  bool is_kernel = false;  ///< else a transfer
  Name kernel{};
};

// Each table forgets its oldest entry for a new one.
template <class Entry, std::size_t size>
class Table {
 public:
  Entry* find(const void* handle) {
    const auto found = std::ranges::find(entries_, handle, &Entry::handle);
    return handle == nullptr || found == entries_.end() ? nullptr : &*found;
  }
  Entry& add(const void* handle) {
    Entry* const known = find(handle);
    Entry& entry = known != nullptr ? *known : entries_[next_++ % size];
    entry = {};
    entry.handle = handle;
    return entry;
  }
  void forget(const void* handle) {
    if (Entry* const known = find(handle)) {
      *known = {};
    }
  }

 private:
  std::array<Entry, size> entries_{};
  std::size_t next_ = 0;
};

constinit std::atomic<bool> locked = false;
constinit Table<Queue, 64> unordered_queues{};
constinit Table<Buffer, 1024> buffers{};
constinit Table<Kernel, 256> kernels{};
constinit std::array<Pending, 256> pending{};
constinit std::size_t pending_next = 0;
constinit std::atomic<bool> has_unordered_queue = false;
constinit std::atomic<bool> has_told_early = false;
constinit std::atomic<bool> has_told_late = false;

void add_pending(const Pending& command) { pending[pending_next++ % pending.size()] = command; }

/// Returns the latest kernel, or transfer, that is pending with a buffer in a queue; null if none
/// is.
const Pending* pending_with(const void* queue, const void* buffer, bool is_kernel) {
  for (std::size_t back = 1; buffer != nullptr && back <= pending.size(); ++back) {
    const Pending& each = pending[(pending_next - back) % pending.size()];
    if (each.queue == queue && each.buffer == buffer && each.is_kernel == is_kernel) {
      return &each;
    }
  }
  return nullptr;
}

template <class... Values>
void warn_once(std::atomic<bool>& has_told, const char* form, Values... values) {
  if (has_told.exchange(true)) {
    return;
  }
  std::array<char, warning_bytes> text{};
  if (std::snprintf(text.data(), text.size(), form, values...) > 0) {
    warn_of_call(text);
  }
}

}  // namespace

void know_queue(const void* queue, bool is_out_of_order) {
  const Locked guard(locked);
  if (is_out_of_order && queue != nullptr) {
    unordered_queues.add(queue);
    has_unordered_queue = true;
  } else {
    unordered_queues.forget(queue);
  }
}

void know_cl_kernel(const void* kernel, const char* name) {
  const Locked guard(locked);
  if (kernel != nullptr && name != nullptr) {
    std::snprintf(kernels.add(kernel).name.data(), sizeof(Kernel::name), "%s", name);
  }
}

void know_cl_buffer(const void* buffer, std::uint64_t flags, std::size_t bytes) {
  const Locked guard(locked);
  if (buffer == nullptr) {
    return;
  }
  Buffer& entry = buffers.add(buffer);
  entry.flags = flags;
  entry.bytes = bytes;
  // OpenCL gives a new buffer the address of one that was released.
  std::ranges::replace_if(
      pending, [buffer](const Pending& each) { return each.buffer == buffer; }, Pending{});
}

void note_cl_argument(const void* kernel, unsigned index, const void* buffer) {
  const Locked guard(locked);
  Kernel* const entry = kernels.find(kernel);
  if (entry != nullptr && index < entry->buffers.size()) {
    entry->buffers[index] = buffer;
  }
}

void note_cl_kernel(const void* queue, const void* kernel, unsigned events) {
  if (!has_unordered_queue) {
    return;
  }
  bool is_early = false;
  Name name{};
  {
    const Locked guard(locked);
    const Kernel* const entry = kernels.find(kernel);
    if (entry == nullptr) {
      return;
    }
    name = entry->name;
    const bool is_unordered = unordered_queues.find(queue) != nullptr;
    for (const void* const buffer : entry->buffers) {
      Buffer* const known = buffers.find(buffer);
      if (known == nullptr) {
        continue;  // a value of as many bytes as a buffer's handle, or an unknown buffer
      }
      known->is_resident = true;
      if (!is_unordered) {
        continue;
      }
      if (events == 0 && pending_with(queue, buffer, false) != nullptr) {
        is_early = true;
      }
      add_pending({.queue = queue, .buffer = buffer, .is_kernel = true, .kernel = entry->name});
    }
  }
  if (is_early) {
    warn_once(
        has_told_early,
        "kernel %s waits for no event in an out-of-order queue, and may start before the transfer "
        "of a buffer that it uses; add the transfer's event to the wait list of clEnqueueTask, or "
        "clFinish before it",
        name.data());
  }
}

void note_cl_send(const void* queue, const void* buffer) {
  if (!has_unordered_queue) {
    return;
  }
  const Locked guard(locked);
  if (unordered_queues.find(queue) != nullptr) {
    add_pending({.queue = queue, .buffer = buffer});
  }
}

void note_cl_migration(const void* queue, const void* buffer, bool has_content) {
  const Locked guard(locked);
  Buffer* const known = buffers.find(buffer);
  if (known == nullptr) {
    return;
  }
  // XRT counts a write-only argument as resident without migrating it.
  const bool kernel_migrates = !known->is_resident && (known->flags & write_only) == 0;
  known->is_resident = true;
  if (has_content && !kernel_migrates && unordered_queues.find(queue) != nullptr) {
    add_pending({.queue = queue, .buffer = buffer});
  }
}

void note_cl_read(const char* call, const void* queue, const void* buffer, std::size_t offset,
                  std::size_t bytes, unsigned events) {
  if (!has_unordered_queue) {
    return;
  }
  Name name{};
  {
    const Locked guard(locked);
    const Buffer* const entry = buffers.find(buffer);
    if (entry == nullptr || events != 0 || (entry->flags & read_only) != 0) {
      return;
    }
    const bool is_whole = bytes == whole_buffer || (offset == 0 && bytes == entry->bytes);
    const Pending* const kernel = is_whole ? pending_with(queue, buffer, true) : nullptr;
    if (kernel == nullptr) {
      return;
    }
    name = kernel->kernel;
  }
  warn_once(
      has_told_late,
      "%s waits for no event in an out-of-order queue, and may read the buffer before kernel %s, "
      "which uses it, has ended; add the kernel's event to the wait list of %s, or clFinish before "
      "it",
      call, name.data(), call);
}

void note_cl_wait() {
  if (!has_unordered_queue) {
    return;
  }
  const Locked guard(locked);
  pending.fill({});
}

void forget_commands() {
  pending.fill({});
  locked = false;
}

bool lacks_event() { return has_told_early || has_told_late; }

}  // namespace isthmus::card::clock

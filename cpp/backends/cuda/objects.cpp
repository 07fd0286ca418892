#include "objects.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <smmintrin.h>
#endif

#include "isthmus/backend.hpp"
#include "ptx.hpp"

namespace isthmus::cuda {
namespace {

/// Makes a device's context the current one of this thread, and restores the previous one at the
/// end: an operation may use two devices.
class Current {
 public:
  explicit Current(const Session& session) {
    check(api().cuCtxPushCurrent(session.context()), "cuCtxPushCurrent");
  }
  ~Current() {
    Context before = nullptr;
    api().cuCtxPopCurrent(&before);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

/// Returns a strided copy of one word per page: rows of 8 bytes, which lie a page apart on the
/// device.
Copy2D rows(std::size_t count) {
  Copy2D copy{};
  copy.width_bytes = sizeof(std::uint64_t);
  copy.height = count;
  return copy;
}

template <class End>
void on_device(End& end, Address address) {
  end.memory = memory_on_device;
  end.device = address;
  end.pitch = page_bytes;
}

template <class End, class Pointer>
void on_host(End& end, Pointer words) {
  end.memory = memory_on_host;
  end.host = words;
  end.pitch = sizeof(std::uint64_t);
}

/// Waits until copied data have arrived: a blocking copy to the device may return once its source
/// is read.
void settle() { check(api().cuStreamSynchronize(nullptr), "cuStreamSynchronize"); }

#if defined(__x86_64__)
constexpr std::size_t vector_bytes = sizeof(__m128i);

/// Copies from memory without a cache by loads of 16 bytes. The memory consists of whole pages, so
/// that a 16-byte load around any of its bytes is possible.
__attribute__((target("sse4.1"))) void read_uncached(std::byte* from, std::span<std::byte> to) {
  _mm_mfence();
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t skip = (reinterpret_cast<std::uintptr_t>(from) + done) % vector_bytes;
    const std::size_t wanted = std::min(vector_bytes - skip, to.size() - done);
    std::byte* line = from + done - skip;
    const __m128i vector = _mm_stream_load_si128(reinterpret_cast<__m128i*>(line));
    std::array<std::byte, vector_bytes> bytes{};
    std::memcpy(bytes.data(), &vector, bytes.size());
    std::memcpy(to.data() + done, bytes.data() + skip, wanted);
    done += wanted;
  }
}
#endif

/// Host memory that the processor writes through combining buffers and reads without a cache.
class WriteCombined final : public Memory {
 public:
  WriteCombined(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override {
    std::memcpy(data_ + offset, from.data(), from.size());
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }
  void get(std::size_t offset, std::span<std::byte> to) override {
#if defined(__x86_64__)
    const bool streams = __builtin_cpu_supports("sse4.1");
    if (streams) {
      read_uncached(data_ + offset, to);
      return;
    }
#endif
    std::memcpy(to.data(), data_ + offset, to.size());
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

Result free_locked(std::byte* data) { return api().cuMemFreeHost(data); }
Result unregister(std::byte* data) { return api().cuMemHostUnregister(data); }
Result free_managed(std::byte* data) {
  return api().cuMemFree(reinterpret_cast<std::uintptr_t>(data));
}

std::byte* allocate_locked(std::size_t bytes, unsigned flags) {
  void* data = nullptr;
  check(api().cuMemHostAlloc(&data, bytes, flags), "cuMemHostAlloc");
  return static_cast<std::byte*>(data);
}

std::byte* allocate_managed(std::size_t bytes) {
  Address address = 0;
  check(api().cuMemAllocManaged(&address, bytes, attach_global), "cuMemAllocManaged");
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): it is one
}

}  // namespace

int attribute(DeviceId device, int which) {
  int value = 0;
  check(api().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

Session::Session(DeviceId device) : device_(device) {
  check(api().cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  try {
    make_current();
    stream_ = make_stream();
  } catch (...) {
    api().cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

Session::~Session() {
  api().cuCtxSetCurrent(context_);
  kept_.clear();
  modules_.clear();
  stream_.reset();
  api().cuDevicePrimaryCtxRelease(device_);
}

void Session::make_current() const { check(api().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

Owned<Stream> Session::make_stream() {
  Stream stream = nullptr;
  check(api().cuStreamCreate(&stream, stream_non_blocking), "cuStreamCreate");
  return Owned<Stream>(stream);
}

Owned<Event> Session::make_event(unsigned flags) {
  Event event = nullptr;
  check(api().cuEventCreate(&event, flags), "cuEventCreate");
  return Owned<Event>(event);
}

Owned<Module> load_module(const char* ptx) {
  std::array<char, 2048> log{};
  std::array<int, 2> options = {jit_error_log, jit_error_log_bytes};
  // cuModuleLoadDataEx takes small numbers in place of pointers.
  const std::uintptr_t size = log.size();
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(size)};  // NOLINT
  Module module = nullptr;
  const Result code =
      api().cuModuleLoadDataEx(&module, ptx, options.size(), options.data(), values.data());
  if (code != success && log[0] != '\0') {
    throw BackendError(std::string("the driver did not compile Isthmus' kernels: ") + log.data());
  }
  check(code, "cuModuleLoadDataEx");
  return Owned<Module>(module);
}

Function Session::kernel(const char* name) { return kernel(name, kernel_ptx); }

Function Session::kernel(const char* name, const char* ptx) {
  Owned<Module>& module = modules_[ptx];
  if (!module) {
    module = load_module(ptx);
  }
  Function function = nullptr;
  check(api().cuModuleGetFunction(&function, module.get(), name), "cuModuleGetFunction");
  return function;
}

DeviceMemory::DeviceMemory(const Session& session, std::size_t bytes)
    : session_(&session), bytes_(bytes) {
  const Current current(session);
  check(api().cuMemAlloc(&address_, bytes), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  // Results are ignored: if the device is lost all calls fail, and a destructor must not throw.
  const bool pushed = api().cuCtxPushCurrent(session_->context()) == success;
  api().cuMemFree(address_);
  if (Context before = nullptr; pushed) {
    api().cuCtxPopCurrent(&before);
  }
}

void DeviceMemory::put(std::size_t offset, std::span<const std::byte> from) {
  const Current current(*session_);
  check(api().cuMemcpyHtoD(address_ + offset, from.data(), from.size()), "cuMemcpyHtoD");
  settle();
}

void DeviceMemory::get(std::size_t offset, std::span<std::byte> to) {
  const Current current(*session_);
  check(api().cuMemcpyDtoH(to.data(), address_ + offset, to.size()), "cuMemcpyDtoH");
}

void DeviceMemory::put_words(std::size_t offset, std::span<const std::uint64_t> words) {
  const Current current(*session_);
  Copy2D copy = rows(words.size());
  on_host(copy.from, words.data());
  on_device(copy.to, address_ + offset);
  check(api().cuMemcpy2D(&copy), "cuMemcpy2D");
  settle();
}

void DeviceMemory::get_words(std::size_t offset, std::span<std::uint64_t> words) {
  const Current current(*session_);
  Copy2D copy = rows(words.size());
  on_device(copy.from, address_ + offset);
  on_host(copy.to, words.data());
  check(api().cuMemcpy2D(&copy), "cuMemcpy2D");
}

HostEnd::HostEnd(const std::string& kind, std::size_t bytes) {
  if (kind == "registered" || HostBuffer::knows(kind)) {
    locked_ = kind == "registered";
    auto buffer = std::make_unique<HostBuffer>(locked_ ? "aligned" : kind, bytes);
    data_ = buffer->data();
    if (locked_) {
      check(api().cuMemHostRegister(data_, bytes, 0), "cuMemHostRegister");
      release_ = unregister;
    }
    memory_ = std::move(buffer);
  } else if (kind == "managed") {
    locked_ = false;
    data_ = allocate_managed(bytes);
    release_ = free_managed;
    memory_ = std::make_unique<HostView>(data_, bytes);
  } else if (kind == "write_combined") {
    data_ = allocate_locked(bytes, host_alloc_write_combined);
    release_ = free_locked;
    memory_ = std::make_unique<WriteCombined>(data_, bytes);
  } else if (kind == "pinned" || kind == "mapped") {
    data_ = allocate_locked(bytes, kind == "mapped" ? host_alloc_mapped : 0);
    release_ = free_locked;
    memory_ = std::make_unique<HostView>(data_, bytes);
  } else {
    throw UsageError("CUDA has no kind of host memory '" + kind + "'");
  }
}

HostEnd::~HostEnd() {
  if (release_ != nullptr) {
    release_(data_);
  }
}

std::vector<std::string> HostEnd::kinds(DeviceId device) {
  std::vector<std::string> kinds = HostBuffer::kinds();
  kinds.insert(kinds.end(), {"pinned", "write_combined"});
  if (attribute(device, host_register_supported) != 0) {
    kinds.emplace_back("registered");
  }
  if (attribute(device, can_map_host_memory) != 0) {
    kinds.emplace_back("mapped");
  }
  if (attribute(device, managed_memory) != 0) {
    kinds.emplace_back("managed");
  }
  return kinds;
}

void HostEnd::give(const DeviceMemory& to) const {
  check(api().cuMemcpyHtoD(to.address(), data_, to.bytes()), "cuMemcpyHtoD");
  if (!locked_) {
    settle();
  }
}

void HostEnd::take(const DeviceMemory& from) const {
  check(api().cuMemcpyDtoH(data_, from.address(), from.bytes()), "cuMemcpyDtoH");
}

Address HostEnd::device_address() const {
  Address address = 0;
  check(api().cuMemHostGetDevicePointer(&address, data_, 0), "cuMemHostGetDevicePointer");
  return address;
}

}  // namespace isthmus::cuda

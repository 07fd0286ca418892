// OpenCL objects that release themselves, and device memory that the verification can access.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "api.hpp"
#include "isthmus/buffer.hpp"

namespace isthmus::cl {

struct Release {
  void operator()(Context object) const { api().clReleaseContext(object); }
  void operator()(Queue object) const { api().clReleaseCommandQueue(object); }
  void operator()(Mem object) const { api().clReleaseMemObject(object); }
  void operator()(Program object) const { api().clReleaseProgram(object); }
  void operator()(Kernel object) const { api().clReleaseKernel(object); }
  void operator()(Event object) const { api().clReleaseEvent(object); }
};

template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

/// Waits for all commands of a queue.
inline void finish(Queue queue) { check(api().clFinish(queue), "clFinish"); }

/// Waits in its destructor for all commands of a queue: a pending command, after a later command
/// was refused, must not outlive its host memory. Declare it after all members that the commands
/// use.
class QueueEnd {
 public:
  explicit QueueEnd(Queue queue) : queue_(queue) {}
  ~QueueEnd() { api().clFinish(queue_); }
  QueueEnd(const QueueEnd&) = delete;
  QueueEnd& operator=(const QueueEnd&) = delete;

 private:
  Queue queue_;
};

/// A string or a number from the runtime about a platform or device.
std::string text_info(DeviceId device, Uint what);
std::string text_info(Platform platform, Uint what);

template <class Value>
Value value_info(DeviceId device, Uint what) {
  Value value{};
  check(api().clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

/// A program of this source or, if a binary is named, of the binary. Throws BackendError with the
/// build log.
Owned<Program> built_program(Context context, DeviceId device, const char* source,
                             const std::string& binary, const char* options = "");

/// One device, its context and queues: one in order for timed commands, one for the opposite
/// direction, a profiling queue for kernels.
class Session {
 public:
  /// Opens a device that compiles our source.
  explicit Session(DeviceId device);
  /// Opens a device that needs a binary and loads the binary: it may program the device.
  Session(DeviceId device, const std::string& binary);

  [[nodiscard]] Queue queue() const { return queue_.get(); }
  [[nodiscard]] Owned<Queue> make_queue(Bitfield properties = 0) const;
  /// Creates a buffer that is resident on the device: some runtimes place a buffer there only at
  /// its first use, and until then a write stays on the host.
  [[nodiscard]] Owned<Mem> make_buffer(std::size_t bytes, Bitfield flags = mem_read_write) const;
  /// Creates a buffer in the card's memory of that index, if AMD's OpenCL has it. Throws
  /// BackendError.
  [[nodiscard]] Owned<Mem> make_buffer_in(Uint memory, std::size_t bytes) const;
  /// Creates host memory on which the device works directly, if AMD's OpenCL has it. Throws
  /// BackendError.
  [[nodiscard]] Owned<Mem> make_host_only(std::size_t bytes) const;
  /// A kernel of the binary or of our source, which is built at first use. Throws BackendError with
  /// the build log.
  [[nodiscard]] Owned<Kernel> make_kernel(const char* name);
  /// Whether the binary, if the device needs one, has such a kernel.
  [[nodiscard]] bool has_kernel(const char* name) const;
  /// Whether its kernels come from a binary.
  [[nodiscard]] bool has_binary() const { return binary_; }
  /// Whether written data can be read back; false if the API has no device.
  [[nodiscard]] bool keeps_data() const { return keeps_data_; }
  /// Whether written rectangles reach the device: AMD's stop at the host's copy of the buffer.
  [[nodiscard]] bool writes_rectangles() const { return writes_rectangles_; }
  /// Whether shared virtual memory works: AMD's OpenCL reports it, but no card has it.
  [[nodiscard]] bool shares() const;
  [[nodiscard]] DeviceId device() const { return device_; }
  [[nodiscard]] Context context() const { return context_.get(); }
  [[nodiscard]] bool is_cpu() const;

 private:
  [[nodiscard]] Owned<Mem> create(std::size_t bytes, Bitfield flags, void* host) const;
  [[nodiscard]] Owned<Mem> create_in(Uint memory, std::size_t bytes, Bitfield flags,
                                     void* host) const;
  void make_resident(Mem buffer) const;
  void choose_memory();
  void probe();
  [[nodiscard]] bool comes_back() const;
  [[nodiscard]] bool rectangle_arrives() const;

  DeviceId device_;
  bool binary_ = false;
  bool keeps_data_ = true;
  bool writes_rectangles_ = true;
  std::optional<Uint> memory_;  ///< index of the card's memory; nothing: the runtime chooses
  Owned<Context> context_;
  Owned<Queue> queue_;
  Owned<Program> program_;
};

/// Device memory; put and get use the session's queue and return when done.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(const Session& session, std::size_t bytes, Bitfield flags = mem_read_write)
      : DeviceMemory(session, bytes, session.make_buffer(bytes, flags)) {}
  DeviceMemory(const Session& session, std::size_t bytes, Owned<Mem> buffer)
      : session_(&session), bytes_(bytes), buffer_(std::move(buffer)) {}

  [[nodiscard]] Mem handle() const { return buffer_.get(); }
  /// Moves the buffer out; this object is then unusable.
  [[nodiscard]] Owned<Mem> take() { return std::move(buffer_); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;
  /// Works in place on large memory of a CPU, which maps it without a copy.
  bool in_place(std::size_t bytes, Access access,
                const std::function<void(std::byte*)>& work) override;
  void put_words(std::size_t offset, std::span<const std::uint64_t> words) override;
  void get_words(std::size_t offset, std::span<std::uint64_t> words) override;

 private:
  void patch_words(std::size_t offset, std::span<const std::uint64_t> words);

  const Session* session_;
  std::size_t bytes_;
  Owned<Mem> buffer_;
};

/// A 0 in device memory whose value compilers do not know.
class OpaqueZero {
 public:
  explicit OpaqueZero(const Session& session);
  void set_argument(Kernel kernel, Uint index) const;

 private:
  DeviceMemory memory_;
};

/// The host's end of a transfer: a HostBuffer, or memory that the runtime allocates (`alloc_host`:
/// CL_MEM_ALLOC_HOST_PTR, mapped during this object's lifetime).
class HostEnd {
 public:
  HostEnd(const Session& session, const std::string& kind, std::size_t bytes);
  ~HostEnd();
  HostEnd(const HostEnd&) = delete;
  HostEnd& operator=(const HostEnd&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  /// The buffer that is mapped here; null for the host's own memory.
  [[nodiscard]] Mem buffer() const { return mapped_.get(); }

 private:
  const Session* session_;
  Owned<Mem> mapped_;
  std::unique_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
};

}  // namespace isthmus::cl

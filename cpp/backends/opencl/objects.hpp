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

/// Waits until all commands of a queue are complete.
inline void finish(Queue queue) { check(api().clFinish(queue), "clFinish"); }

/// Waits in its destructor for all commands of a queue. If a later command is refused, earlier
/// commands must not outlive their host memory: declare it after all members that the commands use.
class QueueEnd {
 public:
  explicit QueueEnd(Queue queue) : queue_(queue) {}
  ~QueueEnd() { api().clFinish(queue_); }
  QueueEnd(const QueueEnd&) = delete;
  QueueEnd& operator=(const QueueEnd&) = delete;

 private:
  Queue queue_;
};

/// Returns what the runtime says about a platform or a device, as text or as a number.
std::string text_info(DeviceId device, Uint what);
std::string text_info(Platform platform, Uint what);

template <class Value>
Value value_info(DeviceId device, Uint what) {
  Value value{};
  check(api().clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

/// Builds a program of this source or, if a binary is named, of the binary. Throws BackendError
/// with the build log.
Owned<Program> built_program(Context context, DeviceId device, const char* source,
                             const std::string& binary, const char* options = "");

/// One device with its context and queues: one for timed commands in order, one for the opposite
/// direction, one that profiles kernels.
class Session {
 public:
  /// Opens a device that compiles Isthmus' source.
  explicit Session(DeviceId device);
  /// Opens a device that needs a binary, and loads the binary, which may program the device.
  Session(DeviceId device, const std::string& binary);

  [[nodiscard]] Queue queue() const { return queue_.get(); }
  [[nodiscard]] Owned<Queue> make_queue(Bitfield properties = 0) const;
  /// Creates a buffer and has the runtime place it on the device. Some runtimes would do so only at
  /// its first use, and keep writes on the host until then.
  [[nodiscard]] Owned<Mem> make_buffer(std::size_t bytes, Bitfield flags = mem_read_write) const;
  /// Creates a buffer in the card's memory of this index, by an extension of AMD's OpenCL. Throws
  /// BackendError.
  [[nodiscard]] Owned<Mem> make_buffer_in(Uint memory, std::size_t bytes) const;
  /// Creates host memory that the device accesses directly, by an extension of AMD's OpenCL. Throws
  /// BackendError.
  [[nodiscard]] Owned<Mem> make_host_only(std::size_t bytes) const;
  /// Returns a kernel of the binary or of Isthmus' source, which is built at first use. Throws
  /// BackendError with the build log.
  [[nodiscard]] Owned<Kernel> make_kernel(const char* name);
  /// Returns whether the device's binary has this kernel; true if the device compiles.
  [[nodiscard]] bool has_kernel(const char* name) const;
  /// Returns whether the device's kernels come from a binary.
  [[nodiscard]] bool has_binary() const { return binary_; }
  /// Returns whether written data can be read back, which is false if the API has no device.
  [[nodiscard]] bool keeps_data() const { return keeps_data_; }
  /// Returns whether written rectangles reach the device: AMD's OpenCL writes only the host's copy.
  [[nodiscard]] bool writes_rectangles() const { return writes_rectangles_; }
  /// Returns whether shared virtual memory works: AMD's OpenCL reports it, but no card has it.
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
  /// Index of the card's memory for buffers; nothing: the runtime chooses.
  std::optional<Uint> memory_;
  Owned<Context> context_;
  Owned<Queue> queue_;
  Owned<Program> program_;
};

/// Memory on a device; `put` and `get` use the session's queue and return when the data have
/// arrived.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(const Session& session, std::size_t bytes, Bitfield flags = mem_read_write)
      : DeviceMemory(session, bytes, session.make_buffer(bytes, flags)) {}
  DeviceMemory(const Session& session, std::size_t bytes, Owned<Mem> buffer)
      : session_(&session), bytes_(bytes), buffer_(std::move(buffer)) {}

  [[nodiscard]] Mem handle() const { return buffer_.get(); }
  /// Returns the buffer and leaves this object without it.
  [[nodiscard]] Owned<Mem> take() { return std::move(buffer_); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;
  /// Works in place if the memory is large and the device a CPU, which maps it without a copy.
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

/// A 0 in device memory. No compiler of kernels knows the value, so it cannot drop additions of it.
class OpaqueZero {
 public:
  explicit OpaqueZero(const Session& session);
  void set_argument(Kernel kernel, Uint index) const;

 private:
  DeviceMemory memory_;
};

/// The host's end of a transfer: a HostBuffer, or memory that the runtime allocates (`alloc_host`:
/// CL_MEM_ALLOC_HOST_PTR, mapped while this object lives).
class HostEnd {
 public:
  HostEnd(const Session& session, const std::string& kind, std::size_t bytes);
  ~HostEnd();
  HostEnd(const HostEnd&) = delete;
  HostEnd& operator=(const HostEnd&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  /// Returns the runtime's buffer that is mapped; null if the memory is a HostBuffer.
  [[nodiscard]] Mem buffer() const { return mapped_.get(); }

 private:
  const Session* session_;
  Owned<Mem> mapped_;
  std::unique_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
};

}  // namespace isthmus::cl

// OpenCL objects that release themselves, and device memory that the verification can reach.
#pragma once

#include <memory>
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

/// A string or a number that the runtime tells about a platform or device.
std::string text_info(DeviceId device, Uint what);
std::string text_info(Platform platform, Uint what);

template <class Value>
Value value_info(DeviceId device, Uint what) {
  Value value{};
  check(api().clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

/// One device, its context and queues: one in order for what is timed, one more for the other
/// direction, a profiling one for kernels.
class Session {
 public:
  explicit Session(DeviceId device);

  [[nodiscard]] Queue queue() const { return queue_.get(); }
  [[nodiscard]] Owned<Queue> make_queue(Bitfield properties = 0) const;
  [[nodiscard]] Owned<Mem> make_buffer(std::size_t bytes, Bitfield flags = mem_read_write) const;
  /// A kernel of our own source, built at first use. Throws BackendError with the build log.
  [[nodiscard]] Owned<Kernel> make_kernel(const char* name);
  [[nodiscard]] DeviceId device() const { return device_; }
  [[nodiscard]] bool is_cpu() const;

 private:
  DeviceId device_;
  Owned<Context> context_;
  Owned<Queue> queue_;
  Owned<Program> program_;
};

/// Device memory; put and get use the session's queue and return when done.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(const Session& session, std::size_t bytes, Bitfield flags = mem_read_write)
      : session_(&session), bytes_(bytes), buffer_(session.make_buffer(bytes, flags)) {}

  [[nodiscard]] Mem handle() const { return buffer_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;
  void put_words(std::size_t offset, std::span<const std::uint64_t> words) override;
  void get_words(std::size_t offset, std::span<std::uint64_t> words) override;

 private:
  const Session* session_;
  std::size_t bytes_;
  Owned<Mem> buffer_;
};

/// The host's end of a transfer: a HostBuffer, or memory that the runtime allocates itself
/// (`alloc_host`: CL_MEM_ALLOC_HOST_PTR, mapped while this object lives).
class HostEnd {
 public:
  HostEnd(const Session& session, const std::string& kind, std::size_t bytes);
  ~HostEnd();
  HostEnd(const HostEnd&) = delete;
  HostEnd& operator=(const HostEnd&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }

 private:
  const Session* session_;
  Owned<Mem> mapped_;
  std::unique_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
};

}  // namespace isthmus::cl

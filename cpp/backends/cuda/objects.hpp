// CUDA objects that release themselves, and the memory at the host's and the device's end of a
// transfer.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "api.hpp"
#include "isthmus/buffer.hpp"

namespace isthmus::cuda {

struct Release {
  void operator()(Stream object) const { api().cuStreamDestroy(object); }
  void operator()(Event object) const { api().cuEventDestroy(object); }
  void operator()(Module object) const { api().cuModuleUnload(object); }
  void operator()(Graph object) const { api().cuGraphDestroy(object); }
  void operator()(GraphExec object) const { api().cuGraphExecDestroy(object); }
};

template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

/// Has the driver compile this PTX. Throws BackendError with the driver's log.
Owned<Module> load_module(const char* ptx);

int attribute(DeviceId device, int which);

/// One device in its primary context, which programs that use CUDA's runtime API share.
class Session {
 public:
  explicit Session(DeviceId device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Makes this device the one that this thread's next calls use.
  void make_current() const;
  [[nodiscard]] DeviceId device() const { return device_; }
  [[nodiscard]] Context context() const { return context_; }
  /// Returns the stream of all queued work; it does not wait for blocking copies.
  [[nodiscard]] Stream stream() const { return stream_.get(); }
  [[nodiscard]] static Owned<Stream> make_stream();
  [[nodiscard]] static Owned<Event> make_event(unsigned flags);
  /// Returns a kernel, which the driver compiles at first use: from the transfers' PTX, or from
  /// `ptx`.
  [[nodiscard]] Function kernel(const char* name);
  [[nodiscard]] Function kernel(const char* name, const char* ptx);
  /// Returns the place for an object of this name, which operations leave to later operations while
  /// the device is open.
  [[nodiscard]] std::shared_ptr<void>& kept(const std::string& name) { return kept_[name]; }

 private:
  DeviceId device_;
  Context context_ = nullptr;
  Owned<Stream> stream_;
  std::map<const char*, Owned<Module>> modules_;  // the key is the PTX
  std::map<std::string, std::shared_ptr<void>> kept_;
};

/// Memory on a device; `put` and `get` return when the data have arrived.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(const Session& session, std::size_t bytes);
  ~DeviceMemory() override;

  [[nodiscard]] Address address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;
  void put_words(std::size_t offset, std::span<const std::uint64_t> words) override;
  void get_words(std::size_t offset, std::span<std::uint64_t> words) override;

 private:
  const Session* session_;
  std::size_t bytes_;
  Address address_ = 0;
};
/// The host's end of a transfer, in a kind of memory of HostBuffer, or of CUDA: `registered` (pages
/// that the driver locks later), `pinned` (the driver's locked memory), `write_combined` (pinned,
/// not cached), `mapped` (pinned, and in the device's address space), `managed` (migrates between
/// host and device).
class HostEnd {
 public:
  HostEnd(const std::string& kind, std::size_t bytes);
  ~HostEnd();
  HostEnd(const HostEnd&) = delete;
  HostEnd& operator=(const HostEnd&) = delete;

  /// Returns the kinds of memory that a device supports; the first is the default.
  static std::vector<std::string> kinds(DeviceId device);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  /// Returns the address at which kernels access memory of kind `mapped`.
  [[nodiscard]] Address device_address() const;
  /// Copies the whole of a device's memory, to the device or from it, and blocks. These are the
  /// calls of a program that makes a single transfer.
  void give(const DeviceMemory& to) const;
  void take(const DeviceMemory& from) const;

 private:
  std::unique_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
  Result (*release_)(std::byte*) = nullptr;
  /// Whether a blocking copy from this memory returns after the data have arrived, not only after
  /// they have been read.
  bool locked_ = true;
};

/// Waits in its destructor for all work of a stream. If a later copy is refused, earlier copies
/// must not outlive their memory: declare it after all members that the copies use.
class StreamEnd {
 public:
  explicit StreamEnd(Stream stream) : stream_(stream) {}
  ~StreamEnd() { api().cuStreamSynchronize(stream_); }
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;

 private:
  Stream stream_;
};

}  // namespace isthmus::cuda

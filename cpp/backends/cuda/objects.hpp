// CUDA objects that release themselves, and the memory at both ends of a transfer.
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

/// A module of this PTX, compiled by the driver. Throws BackendError with the driver's log.
Owned<Module> load_module(const char* ptx);

int attribute(DeviceId device, int which);

/// One device in its primary context, which the runtime API of a user's program also uses.
class Session {
 public:
  explicit Session(DeviceId device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Makes this the device of this thread's calls.
  void make_current() const;
  [[nodiscard]] DeviceId device() const { return device_; }
  [[nodiscard]] Context context() const { return context_; }
  /// The stream of all queued work; it does not wait for the stream of blocking copies.
  [[nodiscard]] Stream stream() const { return stream_.get(); }
  [[nodiscard]] static Owned<Stream> make_stream();
  [[nodiscard]] static Owned<Event> make_event(unsigned flags);
  /// Our kernel, which the driver compiles at first use: from the transfers' PTX, or from other
  /// PTX.
  [[nodiscard]] Function kernel(const char* name);
  [[nodiscard]] Function kernel(const char* name, const char* ptx);
  /// Objects that operations keep for later operations while the device is open, by name.
  [[nodiscard]] std::shared_ptr<void>& kept(const std::string& name) { return kept_[name]; }

 private:
  DeviceId device_;
  Context context_ = nullptr;
  Owned<Stream> stream_;
  std::map<const char*, Owned<Module>> modules_;  // by their PTX
  std::map<std::string, std::shared_ptr<void>> kept_;
};

/// Memory of a device; put and get return when done.
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

/// Host memory of any kind: a HostBuffer's, or `registered` (page-aligned memory that the driver
/// locks later), `pinned` (locked memory of the driver), `write_combined` (pinned, not cached),
/// `mapped` (pinned, and in the device's address space), `managed` (migrates between host and
/// device).
class HostEnd {
 public:
  HostEnd(const std::string& kind, std::size_t bytes);
  ~HostEnd();
  HostEnd(const HostEnd&) = delete;
  HostEnd& operator=(const HostEnd&) = delete;

  /// The kinds that a device supports, the default first.
  static std::vector<std::string> kinds(DeviceId device);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  /// The address of memory of kind `mapped` for kernels.
  [[nodiscard]] Address device_address() const;
  /// Copies the whole of a device's memory, to the device or from it, and blocks. These are the
  /// calls of a program that makes a single transfer.
  void give(const DeviceMemory& to) const;
  void take(const DeviceMemory& from) const;

 private:
  std::unique_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
  Result (*release_)(std::byte*) = nullptr;
  /// Whether a blocking copy from here returns after the data have arrived, not only after they
  /// have been read.
  bool locked_ = true;
};

/// Waits in its destructor for all work of a stream: a pending copy, after a later copy was
/// refused, must not outlive its memory. Declare it after all members that the copies use.
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

// XRT's buffer objects, and access to their host side and their device's data for the verification.
#pragma once

#include <memory>
#include <string>

#include "isthmus/buffer.hpp"
#include "session.hpp"

namespace isthmus::xrt_native {

/// A kind of host memory that the device accesses.
inline constexpr const char* reachable_memory = "host_only";

/// The data of a buffer object on the device. Access goes through the buffer's host side, which is
/// then restored, so that a check of one side does not change the other.
class DeviceSide final : public Memory {
 public:
  DeviceSide(xrt::bo buffer, std::size_t bytes)
      : buffer_(std::move(buffer)), host_(buffer_.map<std::byte*>()), bytes_(bytes) {}

  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;
  void put_words(std::size_t offset, std::span<const std::uint64_t> words) override;
  void get_words(std::size_t offset, std::span<std::uint64_t> words) override;

 private:
  enum class Access : std::uint8_t { read, change };
  template <class Visit>
  void visit(std::size_t offset, std::size_t bytes, Access access, const Visit& visitor);

  xrt::bo buffer_;
  std::byte* host_;
  std::size_t bytes_;
};

/// A buffer object and the host's data for it, whose place depends on the kind of memory:
///   alloc_host    in the buffer object's own host side
///   use_host_ptr  in page-aligned memory on which the buffer object is created
///   host_only     in host memory that the device accesses; nothing is transferred
///   any of HostBuffer's kinds: in memory of the program, which copies it to and from the host side
class Lane {
 public:
  Lane(const Session& session, const OperationSpec& spec, xclBOSyncDirection direction);

  /// Returns the program's memory if the program copies it to and from the buffer object, else
  /// null.
  [[nodiscard]] std::byte* staged() const { return staged_; }
  [[nodiscard]] xrt::bo& buffer() { return buffer_; }
  [[nodiscard]] Movement movement();
  /// The host's data, the device's data, and copies between them.
  [[nodiscard]] std::byte* host() { return staged_ != nullptr ? staged_ : view_->data(); }
  [[nodiscard]] Memory& device() { return *device_; }
  void to_device();
  void to_host();

 private:
  xclBOSyncDirection direction_;
  std::unique_ptr<HostBuffer> own_;
  xrt::bo buffer_;
  std::unique_ptr<HostView> view_;
  std::unique_ptr<DeviceSide> device_;
  std::byte* staged_ = nullptr;
  std::size_t bytes_;
};

/// Returns the kinds of memory that a device supports; the first is the default.
std::vector<std::string> memory_kinds(const Contents& contents);

}  // namespace isthmus::xrt_native

// The record of a program's calls: a file that the clock's library writes. The card reads it, and
// after the program's end Python (emulation/python/isthmus_emulation/last_call.py).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isthmus::card::process {

inline constexpr std::uint32_t call_record_version = 1;

/// All fields are 0 in a new file.
struct CallRecord {
  static constexpr std::size_t numbers = 3;
  static constexpr std::size_t text_bytes = 128;
  static constexpr std::size_t form_bytes = 96;
  static constexpr std::size_t most_forms = 32;
  static constexpr std::size_t most_looks = 4096;

  std::uint32_t version;
  std::uint32_t forms;                ///< number of forms of calls
  std::atomic<std::uint32_t> call;    ///< number of the last call's form, from 1; 0: no call yet
  std::atomic<std::uint32_t> thread;  ///< thread that made the call
  std::array<std::atomic<std::uint64_t>, numbers> number;
  std::array<char, text_bytes> text;
  std::array<std::array<char, form_bytes>, most_forms> form;

  std::atomic<std::uint32_t> opencl;  ///< 1: the program has called OpenCL
  /// Number of the program's looks: by the native API it maps a buffer, or reads it on the host.
  /// Then the card addresses of these buffers and the bytes that the program reads (0: it maps the
  /// buffer). The latest look replaces the oldest.
  std::atomic<std::uint32_t> looks;
  std::array<std::atomic<std::uint64_t>, most_looks> looked_at;
  std::array<std::atomic<std::uint64_t>, most_looks> looked_bytes;
};

/// A look of a program into a buffer on the host.
struct HostLook {
  std::uint64_t address = 0;  ///< on the card
  std::uint64_t bytes = 0;    ///< that it read; 0: it mapped the buffer
};

/// Reads which buffers a program looks at on the host.
class HostLooks {
 public:
  /// The file may appear later.
  explicit HostLooks(std::string file) : file_(std::move(file)) {}
  HostLooks(const HostLooks&) = delete;
  HostLooks& operator=(const HostLooks&) = delete;
  ~HostLooks();

  [[nodiscard]] std::uint32_t count();
  /// Returns the looks after the first `since` ones, as far as they are kept.
  [[nodiscard]] std::vector<HostLook> after(std::uint32_t since);
  /// Whether a look after the first `since` looks was at these bytes of card memory.
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t bytes, std::uint32_t since);
  [[nodiscard]] bool uses_opencl();

 private:
  /// Returns null without a file.
  const CallRecord* record();

  std::string file_;
  const CallRecord* record_ = nullptr;
};

}  // namespace isthmus::card::process

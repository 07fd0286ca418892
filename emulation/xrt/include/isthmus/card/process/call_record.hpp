// The file in which the clock's library notes a program's calls. The card reads it, and after the
// program's end Python does (emulation/python/isthmus_emulation/last_call.py).
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

/// Contents of the file; all fields are 0 in a new file.
struct CallRecord {
  static constexpr std::size_t numbers = 3;
  static constexpr std::size_t text_bytes = 128;
  static constexpr std::size_t form_bytes = 96;
  static constexpr std::size_t most_forms = 32;
  static constexpr std::size_t most_looks = 4096;

  std::uint32_t version;
  std::uint32_t forms;                ///< number of ApiCall's values
  std::atomic<std::uint32_t> call;    ///< which ApiCall was last, counted from 1; 0: no call yet
  std::atomic<std::uint32_t> thread;  ///< thread that made the last call
  std::array<std::atomic<std::uint64_t>, numbers> number;
  std::array<char, text_bytes> text;
  std::array<std::array<char, form_bytes>, most_forms> form;

  std::atomic<std::uint32_t> opencl;  ///< 1: the program has called OpenCL
  /// Number of the program's looks so far. A look is a native call that maps a buffer or reads it
  /// on the host. Then for the latest looks the buffer's card address, and the bytes read (0:
  /// mapped).
  std::atomic<std::uint32_t> looks;
  std::array<std::atomic<std::uint64_t>, most_looks> looked_at;
  std::array<std::atomic<std::uint64_t>, most_looks> looked_bytes;
};

/// One look of the program at a buffer: it reads the buffer on the host, or maps it.
struct HostLook {
  std::uint64_t address = 0;  ///< card address of the first byte
  std::uint64_t bytes = 0;    ///< that the program read; 0: it mapped the buffer
};

/// Reads from the record which buffers the program looked at on the host.
class HostLooks {
 public:
  /// Names the record's file, which may appear later.
  explicit HostLooks(std::string file) : file_(std::move(file)) {}
  HostLooks(const HostLooks&) = delete;
  HostLooks& operator=(const HostLooks&) = delete;
  ~HostLooks();

  [[nodiscard]] std::uint32_t count();
  /// Returns the looks after the first `since`; the oldest may be lost.
  [[nodiscard]] std::vector<HostLook> after(std::uint32_t since);
  /// Returns whether a look after the first `since` was at these bytes of card memory.
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t bytes, std::uint32_t since);
  [[nodiscard]] bool uses_opencl();

 private:
  /// Returns the mapped record; null while there is no file.
  const CallRecord* record();

  std::string file_;
  const CallRecord* record_ = nullptr;
};

}  // namespace isthmus::card::process

// The messages of XRT's hardware emulation: protocol buffers behind a header of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace isthmus::card::process {

/// A message is cut short, or is none.
class WireError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// XRT's numbers (core/include/xcl_macros.h), 32 bits wide. NOLINTNEXTLINE(performance-enum-size)
enum class Call : std::uint32_t {
  close = 1,
  load_bitstream = 3,
  allocate = 4,
  free = 5,
  copy_to_card = 6,
  copy_from_card = 7,
  write_memory = 8,
  write_kernel = 9,
  read_memory = 10,
  read_kernel = 11,
  read_counters = 14,
  trace_count = 15,
  read_trace = 16,
  timestamp = 17,
  bus_status = 18,
  debug_messages = 19,
  set_environment = 20,
  copy_buffer = 22,
  import_buffer = 27,
  setup_instance = 28,
  read_stream_counters = 32,
  read_stream_trace = 33,
  read_host_memory = 34,
  write_host_memory = 35,
  copy_buffer_from_file = 50,
  write_register = 51,
  read_register = 52,
};

/// Requests say what they ask; so do the program's answers, and ours do not.
inline constexpr std::size_t request_header_bytes = 14;
inline constexpr std::size_t reply_header_bytes = 9;
/// Protocol buffers end here.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{2} << 30U;

struct Header {
  std::uint64_t bytes = 0;  ///< of the message that follows
  Call call = Call::close;
};

/// Throws WireError for what is no header, or announces more than a message may have.
Header parse_request_header(std::span<const std::byte, request_header_bytes> data);

/// The fields of a message, as far as they are scalars, texts or bytes. Of a repeated field the
/// last counts; unknown ones are skipped.
class Message {
 public:
  /// Keeps pointing into `data`. Throws WireError.
  explicit Message(std::span<const std::byte> data);

  [[nodiscard]] std::uint64_t number(unsigned field) const { return fields_.at(field).number; }
  [[nodiscard]] std::span<const std::byte> bytes(unsigned field) const {
    return fields_.at(field).bytes;
  }
  [[nodiscard]] std::string text(unsigned field) const;

  static constexpr unsigned most_fields = 16;

 private:
  struct Field {
    std::uint64_t number = 0;
    std::span<const std::byte> bytes;
  };
  std::array<Field, most_fields> fields_{};
};

/// A message that is being written, behind room for its header.
class MessageWriter {
 public:
  MessageWriter() : data_(request_header_bytes) {}

  MessageWriter& number(unsigned field, std::uint64_t value);
  MessageWriter& bytes(unsigned field, std::span<const std::byte> data);
  MessageWriter& text(unsigned field, const std::string& text);
  /// A field whose `size` bytes are sent behind what is here: the last one.
  MessageWriter& announce(unsigned field, std::uint64_t size);

  /// What is to be sent, with `announced` bytes to follow.
  [[nodiscard]] std::span<const std::byte> reply();
  [[nodiscard]] std::span<const std::byte> request(Call call);

 private:
  void varint(std::uint64_t value);
  void size_at(std::size_t at);

  std::vector<std::byte> data_;
  std::uint64_t announced_ = 0;
};

}  // namespace isthmus::card::process

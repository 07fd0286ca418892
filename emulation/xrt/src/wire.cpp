#include "isthmus/card/process/wire.hpp"

#include <cstring>

namespace isthmus::card::process {
namespace {

constexpr std::byte size_tag{0x09};  ///< field 1, eight bytes
constexpr std::byte call_tag{0x15};  ///< field 2, four bytes
// NOLINTNEXTLINE(performance-enum-size): compared with parts of unsigned numbers
enum Wire : unsigned { varint_type = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };

template <class Number>
Number plain(std::span<const std::byte> data, std::size_t at) {
  Number value{};
  std::memcpy(&value, data.data() + at, sizeof(value));
  return value;
}

/// Reads from the front, and never past the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> data) : rest_(data) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  std::span<const std::byte> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      throw WireError("a message ends within a field");
    }
    const auto taken = rest_.first(static_cast<std::size_t>(bytes));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto digit = std::to_integer<std::uint64_t>(take(1).front());
      if (shift == 63 && digit > 1) {
        break;
      }
      value |= (digit & 0x7FU) << shift;
      if (digit < 0x80U) {
        return value;
      }
    }
    throw WireError("a number of a message has more than 64 bits");
  }

 private:
  std::span<const std::byte> rest_;
};

std::uint64_t size_of(std::span<const std::byte> header) {
  if (header.front() != size_tag) {
    throw WireError("what should be a message does not begin like one");
  }
  const auto bytes = plain<std::uint64_t>(header, 1);
  if (bytes > most_message_bytes) {
    throw WireError("a message of " + std::to_string(bytes) + " bytes is announced");
  }
  return bytes;
}

}  // namespace

Header parse_request_header(std::span<const std::byte, request_header_bytes> data) {
  if (data[reply_header_bytes] != call_tag) {
    throw WireError("a message does not say what it asks");
  }
  return {.bytes = size_of(data),
          .call = static_cast<Call>(plain<std::uint32_t>(data, reply_header_bytes + 1))};
}

Message::Message(std::span<const std::byte> data) {
  Reader reader(data);
  while (!reader.done()) {
    const std::uint64_t key = reader.varint();
    const std::uint64_t field = key >> 3U;
    if (field == 0) {
      throw WireError("a message has a field without a number");
    }
    Field found;
    switch (key & 7U) {
      case varint_type:
        found.number = reader.varint();
        break;
      case eight_bytes:
        found.number = plain<std::uint64_t>(reader.take(8), 0);
        break;
      case four_bytes:
        found.number = plain<std::uint32_t>(reader.take(4), 0);
        break;
      case counted:
        found.bytes = reader.take(reader.varint());
        break;
      default:
        throw WireError("a message has a field of unknown kind");
    }
    if (field < most_fields) {
      fields_.at(field) = found;
    }
  }
}

std::string Message::text(unsigned field) const {
  const auto data = bytes(field);
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

void MessageWriter::varint(std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) {
    data_.push_back(static_cast<std::byte>(value | 0x80U));
  }
  data_.push_back(static_cast<std::byte>(value));
}

MessageWriter& MessageWriter::number(unsigned field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3U | varint_type);
  varint(value);
  return *this;
}

MessageWriter& MessageWriter::announce(unsigned field, std::uint64_t size) {
  varint(std::uint64_t{field} << 3U | counted);
  varint(size);
  announced_ = size;
  return *this;
}

MessageWriter& MessageWriter::bytes(unsigned field, std::span<const std::byte> data) {
  announce(field, data.size());
  announced_ = 0;
  data_.insert(data_.end(), data.begin(), data.end());
  return *this;
}

MessageWriter& MessageWriter::text(unsigned field, const std::string& text) {
  return bytes(field, std::as_bytes(std::span(text)));
}

void MessageWriter::size_at(std::size_t at) {
  const std::uint64_t bytes = data_.size() - request_header_bytes + announced_;
  data_[at] = size_tag;
  std::memcpy(&data_[at + 1], &bytes, sizeof(bytes));
}

std::span<const std::byte> MessageWriter::reply() {
  constexpr std::size_t unused = request_header_bytes - reply_header_bytes;
  size_at(unused);
  return std::span(data_).subspan(unused);
}

std::span<const std::byte> MessageWriter::request(Call call) {
  size_at(0);
  data_[reply_header_bytes] = call_tag;
  std::memcpy(&data_[reply_header_bytes + 1], &call, sizeof(call));
  return data_;
}

}  // namespace isthmus::card::process

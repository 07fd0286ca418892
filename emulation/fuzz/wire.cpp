// libFuzzer target: the codec of XRT's messages reads or refuses whatever a socket brings.
#include "isthmus/card/process/wire.hpp"

#include <cstdlib>

using namespace isthmus::card::process;

namespace {

/// Ends the program unless each field lies within the message.
void check_fields(const Message& message, std::span<const std::byte> data) {
  for (unsigned field = 0; field < Message::most_fields; ++field) {
    const auto bytes = message.bytes(field);
    if (!bytes.empty() &&
        (bytes.data() < data.data() || bytes.data() + bytes.size() > data.data() + data.size())) {
      std::abort();
    }
    if (message.text(field).size() != bytes.size()) {
      std::abort();
    }
  }
}

/// Ends the program unless what is written of a message reads back.
void check_round_trip(const Message& message) {
  MessageWriter writer;
  writer.number(1, message.number(1)).bytes(2, message.bytes(2));
  const auto reply = writer.reply().subspan(reply_header_bytes);
  const Message again(reply);
  if (again.number(1) != message.number(1) || again.bytes(2).size() != message.bytes(2).size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto data = std::as_bytes(std::span(bytes, size));
  try {
    if (size >= request_header_bytes) {
      const Header header = parse_request_header(data.first<request_header_bytes>());
      if (header.bytes > most_message_bytes) {
        std::abort();
      }
    }
  } catch (const WireError&) {  // refused, as it may be
  }
  try {
    const Message message(data);
    check_fields(message, data);
    check_round_trip(message);
  } catch (const WireError&) {  // refused, as it may be
  }
  return 0;
}

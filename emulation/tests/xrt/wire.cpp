// The codec of XRT's messages: what it writes it reads, and nothing that it reads can hurt it.
#include "isthmus/card/process/wire.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace isthmus::card::process;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

std::vector<std::byte> body_of(MessageWriter& writer) {
  const auto reply = writer.reply();
  return {reply.begin() + reply_header_bytes, reply.end()};
}

}  // namespace

TEST_CASE("What is written is read", "[card][wire]") {
  const auto value = GENERATE(std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                              std::uint64_t{1} << 32U, ~std::uint64_t{0});
  MessageWriter writer;
  writer.number(1, value).text(2, "device").bytes(4, bytes_of({1, 2, 3}));
  const std::vector<std::byte> body = body_of(writer);
  const Message message(body);
  CHECK(message.number(1) == value);
  CHECK(message.text(2) == "device");
  CHECK(std::ranges::equal(message.bytes(4), bytes_of({1, 2, 3})));
  CHECK(message.number(3) == 0);
  CHECK(message.bytes(3).empty());
}

TEST_CASE("A message is as protocol buffers have it", "[card][wire]") {
  MessageWriter writer;
  writer.number(1, 300).text(2, "ab");
  CHECK(body_of(writer) == bytes_of({0x08, 0xAC, 0x02, 0x12, 0x02, 'a', 'b'}));
  const auto header = writer.reply();
  CHECK(std::ranges::equal(header.first(reply_header_bytes),
                           bytes_of({0x09, 7, 0, 0, 0, 0, 0, 0, 0})));
  const auto request = writer.request(Call::read_host_memory);
  CHECK(std::ranges::equal(request.first(request_header_bytes),
                           bytes_of({0x09, 7, 0, 0, 0, 0, 0, 0, 0, 0x15, 34, 0, 0, 0})));
}

TEST_CASE("What is announced counts in the header", "[card][wire]") {
  MessageWriter writer;
  writer.number(1, 1).announce(2, 1000);
  const auto request = writer.request(Call::write_host_memory);
  CHECK(parse_request_header(request.first<request_header_bytes>()).bytes ==
        request.size() - request_header_bytes + 1000);
}

TEST_CASE("Fields that nobody asks for are skipped", "[card][wire]") {
  const auto body = bytes_of({0x09, 1,    2,    3,    4,    5, 6, 7, 8,  // 1: eight bytes
                              0x15, 1,    0,    0,    0,                 // 2: four bytes
                              0xF2, 0x01, 0x02, 0xFF, 0xFF,              // 30: counted
                              0x18, 0x05, 0x18, 0x06});                  // 3 twice
  const Message message(body);
  CHECK(message.number(1) == 0x0807060504030201U);
  CHECK(message.number(2) == 1);
  CHECK(message.number(3) == 6);
}

TEST_CASE("Damaged messages are refused", "[card][wire]") {
  const auto body = GENERATE(values<std::vector<std::byte>>({
      bytes_of({0x08}),             // a number is missing
      bytes_of({0x08, 0x80}),       // a number ends too early
      bytes_of({0x12, 0x05, 'a'}),  // fewer bytes than counted
      bytes_of({0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}),
      bytes_of({0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}),
      bytes_of({0x09, 1, 2}),  // eight bytes, of which two are there
      bytes_of({0x15, 1, 2}),  // four bytes, of which two are there
      bytes_of({0x0B}),        // a group
      bytes_of({0x00, 0x01}),  // no number of a field
      bytes_of({0x07}),        // no kind of a field
  }));
  CHECK_THROWS_AS(Message(body), WireError);
}

TEST_CASE("Damaged headers are refused", "[card][wire]") {
  std::array<std::byte, request_header_bytes> header{};
  CHECK_THROWS_AS(parse_request_header(header), WireError);
  header[0] = std::byte{0x09};
  CHECK_THROWS_AS(parse_request_header(header), WireError);
  header[9] = std::byte{0x15};
  header[10] = std::byte{6};
  CHECK(parse_request_header(header).call == Call::copy_to_card);
  header[8] = std::byte{1};  // 2^56 bytes
  CHECK_THROWS_AS(parse_request_header(header), WireError);
}

TEST_CASE("Whatever arrives is read or refused", "[card][wire][fuzz]") {
  std::mt19937_64 random(20261122);
  unsigned read = 0;
  unsigned refused = 0;
  const auto attempt = [&](std::span<const std::byte> body) {
    try {
      const Message message(body);
      for (unsigned field = 0; field < Message::most_fields; ++field) {
        const auto bytes = message.bytes(field);
        // Every byte that it points to is one of the message.
        REQUIRE((bytes.empty() || (bytes.data() >= body.data() &&
                                   bytes.data() + bytes.size() <= body.data() + body.size())));
      }
      ++read;
    } catch (const WireError&) {
      ++refused;
    }
  };
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> noise(random() % 40);
    std::ranges::generate(noise, [&] { return static_cast<std::byte>(random()); });
    attempt(noise);
    MessageWriter writer;
    writer.number(2, random()).bytes(4, noise).number(6, random() % 5);
    std::vector<std::byte> body = body_of(writer);
    body[random() % body.size()] = static_cast<std::byte>(random());
    attempt(std::span(body).first(random() % (body.size() + 1)));
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}

// Modules in Verilog that break rules of AXI, and the warnings.
#include "rtl_rules.hpp"

#include <array>
#include <catch2/catch.hpp>

using namespace isthmus::card;
using namespace isthmus::card::plugin;

namespace {

struct Told {
  std::vector<std::string> all;

  Warn warn() {
    return
        [this](const std::string& does, const std::string& where) { all.push_back(does + where); };
  }
};

struct Channel {
  std::uint8_t valid = 0, ready = 0, last = 0;
  std::uint32_t data = 0;

  Offered offered() {
    return {.rules = "AXI4",
            .valid = {"m_wvalid", Pin(valid)},
            .ready = {"m_wready", Pin(ready)},
            .payload = {{"m_wdata", Pin(data)}, {"m_wlast", Pin(last)}}};
  }
};

WatchedMemory memory(Told& told) {
  const Contents contents{
      .read = [](std::uint64_t /*from*/, std::span<std::byte> /*to*/) { return true; },
      .write = [](std::uint64_t /*to*/, std::span<const std::byte> /*from*/,
                  std::uint64_t /*strobes*/) { return true; }};
  return {"m_axi", told.warn(), contents, LinkedMemoryOptions{.writes_in_flight = 2}};
}

}  // namespace

TEST_CASE("What is offered stays until it is taken", "[card][process]") {
  Told told;
  Channel channel;
  Handshake handshake(channel.offered(), told.warn());
  const auto clock = [&](const Channel& next) {
    channel = next;
    handshake.note();
  };
  clock({.valid = 1, .ready = 1, .data = 1});
  clock({.valid = 1, .ready = 1, .data = 2});
  clock({.valid = 1, .ready = 0, .data = 3});
  clock({.valid = 1, .ready = 0, .data = 3});
  clock({.valid = 1, .ready = 1, .data = 3});
  clock({.valid = 0, .ready = 0, .data = 4});
  clock({.valid = 0, .ready = 1, .data = 5});
  CHECK(told.all.empty());

  clock({.valid = 1, .ready = 0, .data = 6});
  clock({.valid = 0, .ready = 1});
  CHECK(told.all == std::vector<std::string>{
                        "lowers m_wvalid before it was answered by m_wready, which breaks AXI4"});
  told.all.clear();
  clock({.valid = 1, .ready = 0, .data = 7});
  clock({.valid = 1, .ready = 1, .last = 1, .data = 8});
  CHECK(told.all == std::vector<std::string>{
                        "changes m_wdata while m_wvalid waits for m_wready, which breaks AXI4",
                        "changes m_wlast while m_wvalid waits for m_wready, which breaks AXI4"});
}

TEST_CASE("A burst stays within 4 KiB", "[card][process]") {
  const bool writes = GENERATE(false, true);
  Told told;
  WatchedMemory watched = memory(told);
  const auto ask = [&](std::uint64_t address, std::uint32_t beats) {
    const Burst burst{.address = address, .beats = beats, .beat_bytes = 64};
    CHECK((writes ? watched.write(burst, 0) : watched.read(burst, 0)));
  };
  ask(0x1000, 64);
  CHECK(told.all.empty());
  ask(0x1FE0, 2);  // its first beat begins at 0x1FC0
  REQUIRE(told.all.size() == 1);
  CHECK(told.all.front() ==
        std::string(writes ? "writes" : "reads") +
            " by m_axi in a burst that crosses a boundary of 4 KiB, which breaks AXI4: "
            "128 bytes at 0x1fe0");
}

TEST_CASE("A burst that is refused is no burst yet", "[card][process]") {
  Told told;
  WatchedMemory watched = memory(told);
  const Burst crossing{.address = 0xFC0, .beats = 2, .beat_bytes = 64};
  for (int n = 0; n < 3; ++n) {
    watched.write(crossing, 0);
  }
  CHECK(told.all.size() == 2);
}

TEST_CASE("The last beat of a burst says so, and no other", "[card][process]") {
  Told told;
  WatchedMemory watched = memory(told);
  const std::array<std::byte, 4> data{};
  const auto burst = [&](const std::vector<bool>& lasts) {
    const Burst asked{.address = 0, .beats = 2, .beat_bytes = 4};
    CHECK(watched.write(asked, 0));
    for (const bool last : lasts) {
      CHECK(watched.write_beat(data, 0xF, last, 0));
    }
    watched.write_response(0);
  };
  burst({false, true});
  CHECK(told.all.empty());
  burst({true});
  burst({false, false, true});
  burst({false, true});
  const std::string what =
      "sets m_axi's wlast in another beat than the last of a burst, which breaks AXI4: beat ";
  CHECK(told.all == std::vector<std::string>{what + "1 of 2 has it", what + "2 of 2 lacks it",
                                             what + "3 of 2 has it"});
  CHECK_FALSE(watched.write_beat(data, 0xF, true, 0));  // of no burst
}

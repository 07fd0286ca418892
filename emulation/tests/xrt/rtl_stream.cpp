// A stream of a module in Verilog: its pins at each clock, and its words beside those of C++.
#include "rtl_stream.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <numeric>

using namespace isthmus::card;
using namespace isthmus::card::plugin;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes made;
  for (const int value : values) {
    made.push_back(static_cast<std::byte>(value));
  }
  return made;
}

/// Pins as Verilator keeps them: a word of 24 bits with last, keep and a destination of 4 bits.
struct Module {
  std::uint8_t tvalid = 0, tready = 0, tlast = 0, tkeep = 0, tdest = 0;
  std::uint32_t tdata = 0;

  AxisPins pins(bool reads, bool beside = true) {
    AxisPins made{.argument = 7,
                  .reads = reads,
                  .tvalid = Pin(tvalid),
                  .tready = Pin(tready),
                  .tdata = {Pin(tdata), 24},
                  .sideband = {}};
    if (beside) {
      made.sideband = {Bus{Pin(tlast), 1}, Bus{Pin(tkeep), 3}, {}, {}, {}, Bus{Pin(tdest), 4}};
    }
    return made;
  }
};

/// The card's side: words of data and sideband on their way.
struct Words {
  std::size_t depth = 2;
  std::deque<std::pair<Bytes, Bytes>> held;

  AxisStream::Reach reach() {
    return [this](const AxisPins& pins, const isthmus_stream_word& word, int wait) {
      CHECK(pins.argument == 7);
      auto* const data = static_cast<std::byte*>(word.data);
      auto* const beside = static_cast<std::byte*>(word.sideband);
      if (pins.reads ? held.empty() : held.size() == depth) {
        return false;
      }
      if (!pins.reads && wait == ISTHMUS_STREAM_TRY) {
        held.emplace_back(Bytes(data, data + word.data_bytes),
                          Bytes(beside, beside + word.sideband_bytes));
      } else if (pins.reads) {
        std::ranges::copy(held.front().first, data);
        const auto both = std::min<std::size_t>(word.sideband_bytes, held.front().second.size());
        std::copy_n(held.front().second.begin(), both, beside);
        if (wait == ISTHMUS_STREAM_TRY) {
          held.pop_front();
        }
      }
      return true;
    };
  }
};

}  // namespace

TEST_CASE("A module's word has the layout of ap_axiu", "[card][process]") {
  Module module;
  Words words;
  AxisStream stream(module.pins(false), words.reach());
  module = {.tvalid = 1, .tlast = 1, .tkeep = 5, .tdest = 9, .tdata = 0x123456};
  stream.show();
  CHECK(module.tready == 1);
  stream.note();
  REQUIRE(words.held.size() == 1);
  CHECK(words.held[0].first == bytes({0x56, 0x34, 0x12}));
  // last, keep, strb (all bytes, for the module has none), user, id, dest
  CHECK(words.held[0].second == bytes({1, 5, 7, 0, 0, 9}));
}

TEST_CASE("A module without a sideband has plain words", "[card][process]") {
  Module module;
  Words words;
  AxisStream stream(module.pins(false, false), words.reach());
  module.tvalid = 1;
  stream.show();
  stream.note();
  REQUIRE(words.held.size() == 1);
  CHECK(words.held[0].second.empty());
}

TEST_CASE("A module reads what is there, and all bytes count without tkeep", "[card][process]") {
  const bool says = GENERATE(true, false);
  Module module{.tready = 1};
  Words words;
  AxisStream stream(module.pins(true), words.reach());
  words.held.emplace_back(bytes({1, 2, 3}), says ? bytes({1, 0xFA, 0, 0, 0, 0xF9}) : Bytes{});
  stream.show();
  CHECK(module.tvalid == 1);
  CHECK(module.tdata == 0x030201);
  CHECK(module.tlast == (says ? 1 : 0));
  CHECK(module.tkeep == (says ? 2 : 7));  // no bits beyond the three
  CHECK(module.tdest == (says ? 9 : 0));
}

TEST_CASE("A word moves in the clock in which both sides are ready", "[card][process]") {
  Module module;
  Words words;
  AxisStream stream(module.pins(true), words.reach());
  const auto clock = [&] {
    stream.show();
    stream.note();
  };
  clock();
  CHECK(module.tvalid == 0);
  CHECK(stream.waits());
  words.held.emplace_back(bytes({1, 0, 0}), Bytes{});
  words.held.emplace_back(bytes({2, 0, 0}), Bytes{});
  clock();
  clock();  // offered until it is taken
  CHECK(module.tvalid == 1);
  CHECK(module.tdata == 1);
  CHECK_FALSE(stream.waits());
  CHECK(words.held.size() == 2);
  module.tready = 1;
  clock();
  CHECK(words.held.size() == 1);
  clock();
  CHECK(module.tdata == 2);
  CHECK(words.held.empty());
  clock();
  CHECK(module.tvalid == 0);
}

TEST_CASE("A full stream is shown as one, whether the module writes or not", "[card][process]") {
  Module module;
  Words words;
  words.depth = 1;
  {
    AxisStream stream(module.pins(false), words.reach());
    stream.show();
    CHECK(module.tready == 1);  // before it is asked
    stream.note();
    CHECK(words.held.empty());
    module.tvalid = 1;
    stream.show();
    stream.note();
    stream.show();
    CHECK(module.tready == 0);
    CHECK(stream.waits());
    stream.note();
    CHECK(words.held.size() == 1);
    module.tvalid = 0;
    CHECK_FALSE(stream.waits());
    words.held.clear();
    stream.show();
    CHECK(module.tready == 1);
  }
  CHECK(module.tready == 0);  // for the registers of the next run
}

#include "isthmus/card/board.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "u250.hpp"

namespace isthmus::card {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a board is read from its parameters") {
  const Board board = u250_with({{"link.straddle", "true"}, {"dma.completion", "interrupt"}});
  CHECK(board.name == "like a U250");
  CHECK(board.link.lanes == 16);
  CHECK(board.link.straddle);
  CHECK(board.link.acknowledge_every_bytes == 1024);  // by default
  CHECK(board.dma.value().interrupt);
  CHECK(board.memory.value().bandwidth_Bps == 19.2e9);
  CHECK(board.serial.value().stretch == 1.0105);
}

TEST_CASE("a section may be absent, a parameter of one that is there may not") {
  Parameters parameters = u250();
  std::erase_if(parameters, [](const auto& entry) { return entry.first.starts_with("serial."); });
  CHECK_FALSE(Board::from(parameters).serial.has_value());
  for (const auto& [key, value] : u250()) {
    if (key == "board.name" || key == "host.write_combining_bytes") {
      continue;  // has a default
    }
    Parameters without = u250();
    without.erase(key);
    CHECK_THROWS_WITH(Board::from(without), Contains(key));
  }
}

TEST_CASE("unknown and impossible values are refused by name") {
  const auto refused = [](const std::string& key, const std::string& value) {
    CHECK_THROWS_WITH(u250_with({{key, value}}), Contains(key));
    CHECK_THROWS_AS(u250_with({{key, value}}), BoardError);
  };
  refused("link.lanes", "3");
  refused("link.lanes", "-8");
  refused("link.generation", "7");
  refused("link.max_payload_bytes", "300");
  refused("link.latency_ns", "-1");
  refused("link.latency_ns", "nan");
  refused("link.latency_ns", "1e99");
  refused("link.latency_ns", "");
  refused("link.straddle", "maybe");
  refused("link.posted_data_credits", "1");  // less than one packet
  refused("link.error_rate", "1");
  refused("host.page_bytes", "5000");
  refused("host.memory_bandwidth_Bps", "0");
  refused("dma.tags", "16x");
  refused("dma.completion", "never");
  refused("link.colour", "red");
  refused("colour", "red");
}

}  // namespace
}  // namespace isthmus::card

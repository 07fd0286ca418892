#include <catch2/catch.hpp>

#include "isthmus/buffer.hpp"

using isthmus::HostBuffer;
using isthmus::page_bytes;

TEST_CASE("numa: numbers are listed as Linux lists them", "[numa]") {
  using Numbers = std::vector<int>;
  CHECK(isthmus::numbers_in("0") == Numbers{0});
  CHECK(isthmus::numbers_in("0-2,5,8-9") == Numbers{0, 1, 2, 5, 8, 9});
  CHECK(isthmus::numbers_in("").empty());
  CHECK(isthmus::numbers_in("none").empty());
  CHECK_FALSE(isthmus::memory_nodes().empty());
}

TEST_CASE("numa: pages lie on the node that was asked for, or it is said why not", "[numa]") {
  CHECK(HostBuffer::node("node12") == 12);
  CHECK_FALSE(HostBuffer::node("node").has_value());
  CHECK_FALSE(HostBuffer::node("node-1").has_value());
  CHECK_FALSE(HostBuffer::node("aligned").has_value());
  const std::vector<int> nodes = isthmus::memory_nodes();
  HostBuffer plain("mmap", 3 * page_bytes);
  const std::span<std::byte> pages(plain.data(), plain.bytes());
  CHECK_THROWS_AS(isthmus::place_on_node(pages, 1023), isthmus::MemoryLimitError);
  const int last = nodes.back();
  try {
    isthmus::place_on_node(pages, last);
  } catch (const isthmus::MemoryLimitError& error) {
    WARN(error.what());  // a container may forbid it
    return;
  }
  isthmus::put_pattern(plain, plain.bytes(), 1);
  const std::vector<int> found = isthmus::nodes_of(pages.subspan(1, 2 * page_bytes));
  CHECK((found.empty() || found == std::vector<int>{last}));  // empty if the query is forbidden
  const std::string kind = "node" + std::to_string(last);
  if (nodes.size() == 1) {
    CHECK_THROWS_AS(HostBuffer(kind, 10), isthmus::MemoryLimitError);
  } else {
    CHECK(HostBuffer(kind, 10).bytes() == 10);
  }
}

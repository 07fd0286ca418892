#include "isthmus/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace isthmus {
namespace {

Neighbours ring(unsigned place, unsigned ranks) {
  return {.next = (place + 1) % ranks, .previous = (place + ranks - 1) % ranks};
}

/// Returns the ranks in an order drawn by splitmix64, which is equal on every machine, unlike an
/// order drawn by the standard library's distributions.
std::vector<unsigned> drawn_order(unsigned ranks) {
  std::vector<unsigned> order(ranks);
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t state = ranks;
  for (unsigned left = ranks; left > 1; --left) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t word = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    std::swap(order[left - 1], order[(word ^ (word >> 31U)) % left]);
  }
  return order;
}

}  // namespace

AxisInfo topology_axis() {
  return {.name = "topology", .usual = "ring", .values = {"ring", "pairs", "random"}};
}

Neighbours neighbours_of(const std::string& topology, unsigned rank, unsigned ranks) {
  if (topology == "ring") {
    return ring(rank, ranks);
  }
  if (topology == "pairs") {
    const unsigned partner = partner_of(rank, ranks);
    return {.next = partner, .previous = partner};
  }
  if (topology == "random") {
    const std::vector<unsigned> order = drawn_order(ranks);
    const auto place = static_cast<unsigned>(std::ranges::find(order, rank) - order.begin());
    const Neighbours places = ring(place, ranks);
    return {.next = order[places.next], .previous = order[places.previous]};
  }
  throw UsageError("a topology is ring, pairs or random, not '" + topology + "'");
}

unsigned partner_of(unsigned rank, unsigned ranks) {
  const unsigned other = rank ^ 1U;
  return other < ranks ? other : rank;
}

}  // namespace isthmus

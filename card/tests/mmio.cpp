#include <catch2/catch.hpp>

#include "isthmus/card/card.hpp"
#include "u250.hpp"

using namespace isthmus::card;

namespace {

Time access(CpuAccess access) { return Card(u250_with()).access(access); }

}  // namespace

TEST_CASE("Each system call of loads adds what it costs") {
  CpuAccess loads;
  loads.width = 8;
  loads.count = 16;
  const Time by_pointer = access(loads);
  const Time call = from_nanoseconds(u250_with().host.system_call_ns);
  REQUIRE(call > 0);
  loads.call_bytes = 128;
  CHECK(access(loads) == by_pointer + call);
  loads.call_bytes = 32;
  CHECK(access(loads) == by_pointer + 4 * call);
}

TEST_CASE("Calls that store hide what leaves meanwhile, and cut lines") {
  CpuAccess stores;
  stores.instruction = Instruction::combined_store;
  stores.width = 64;
  stores.count = 1024;
  const Time by_pointer = access(stores);
  const Time call = from_nanoseconds(u250_with().host.system_call_ns);
  stores.call_bytes = stores.count * stores.width;
  CHECK(access(stores) == by_pointer + call);
  stores.call_bytes = 64;
  CHECK(access(stores) >= 1024 * call);
  CHECK(access(stores) < by_pointer + 1024 * call);
}

TEST_CASE("Loads in flight divide the time of a block") {
  CpuAccess loads;
  loads.width = 64;
  loads.count = 64;
  loads.in_flight = 1;
  const Time alone = access(loads);
  loads.in_flight = 4;
  const Time four = access(loads);
  CHECK(four < alone / 3);
  CHECK(four > alone / 5);
}

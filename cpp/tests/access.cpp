#include "isthmus/access.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <tuple>

using namespace isthmus;

namespace {

OperationSpec usual_of(const OperationInfo& info) {
  OperationSpec spec{info.name, info.unit_bytes, info.memory_kinds.front(), {}};
  for (const AxisInfo& axis : info.axes) {
    spec.axes[axis.name] = axis.usual;
  }
  return spec;
}

}  // namespace

TEST_CASE("An access described as an operation comes back as it was") {
  auto all = loads_of("bar_memory_load", true);
  std::ranges::copy(all_stores(), std::back_inserter(all));
  for (const Access& access : all) {
    const OperationInfo info = describe(access, "bar_uc", 4096);
    REQUIRE(access_of(usual_of(info)) == access);
    REQUIRE(info.unit_bytes == access.width);
    REQUIRE(info.parts.front().direction == (access.stores() ? "h2d" : "d2h"));
  }
}

TEST_CASE("No two accesses of a memory can be mistaken for each other") {
  std::set<std::tuple<std::string, std::string, unsigned, std::string, bool>> seen;
  auto all = loads_of("bar_memory_load", true);
  std::ranges::copy(all_stores(), std::back_inserter(all));
  for (const Access& access : all) {
    REQUIRE(seen.insert({access.operation, access.instruction, access.width, access.fence,
                         access.pipelined})
                .second);
  }
}

TEST_CASE("Only pipelined accesses of 8 bytes or more make blocks") {
  CHECK(most_block({"store", "mov", 8, "none", true}, 4096) == 4096);
  CHECK(most_block({"store", "mov", 8, "sfence", false}, 4096) == 8);
  CHECK(most_block({"store", "mov", 4, "none", true}, 4096) == 4);
}

TEST_CASE("A permission names the memory that may be accessed") {
  const Permission permission = permission_of({{"registers", "vadd:{vadd_1}:0x34"},
                                               {"memory", "2:0x1000+4Ki"},
                                               {"allow_loads", "yes"},
                                               {"allow_writes", "yes"}},
                                              "KERNEL");
  CHECK(permission.registers.value().name == "vadd:{vadd_1}");
  CHECK(permission.registers.value().offset == 0x34);
  CHECK(permission.registers.value().bytes == 4);
  CHECK(permission.memory.value().name == "2");
  CHECK(permission.memory.value().bytes == 4096);
  CHECK(permission.memory.value().text == "2:0x1000+4Ki");
  CHECK((permission.loads && permission.stores));
  const Permission nothing = permission_of({}, "BAR");
  CHECK_FALSE((nothing.registers || nothing.memory || nothing.loads || nothing.stores));
}

TEST_CASE(
    "A range without permission, permission without a range, and no range at all are refused") {
  const std::vector<Options> refused = {
      {{"registers", "0:0"}},
      {{"allow_loads", "yes"}},
      {{"registers", "0:0"}, {"allow_writes", "yes"}},
      {{"memory", "0:0"}, {"allow_loads", "yes"}},
      {{"registers", "0x10"}, {"allow_loads", "yes"}},
      {{"registers", "0:1z"}, {"allow_loads", "yes"}},
      {{"registers", "0:17179869185Gi"}, {"allow_loads", "yes"}},
      {{"registers", "0:0"}, {"allow_loads", "maybe"}},
  };
  for (const Options& options : refused) {
    CHECK_THROWS_AS(permission_of(options, "BAR"), UsageError);
  }
}

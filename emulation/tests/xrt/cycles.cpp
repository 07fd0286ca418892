// What the xclbin says of a kernel's computing: formulas over its registers.
#include "isthmus/card/process/cycles.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>

#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/outcome.hpp"

using namespace isthmus::card::process;

namespace {

/// A buffer, 1000 in 4 bytes, -3 in 2 bytes, 8 bytes of ones, and a stream.
std::vector<ArgumentPlace> arguments() {
  return {
      {.buffer = true, .offset = 0x10, .bytes = 8, .name = "in"},
      {.buffer = false, .offset = 0x1c, .bytes = 4, .name = "n"},
      {.buffer = false, .offset = 0x24, .bytes = 2, .name = "by"},
      {.buffer = false, .offset = 0x2c, .bytes = 8, .name = "all"},
      {.buffer = false, .offset = 0, .bytes = 0, .name = "out"},
  };
}

std::array<std::byte, 0x40> registers() {
  std::array<std::byte, 0x40> found{};
  found.fill(std::byte{0xff});
  const std::uint32_t n = 1000;
  const std::int16_t by = -3;
  std::memcpy(found.data() + 0x1c, &n, sizeof(n));
  std::memcpy(found.data() + 0x24, &by, sizeof(by));
  return found;
}

std::int64_t cycles(const std::string& text) {
  const Formula formula = Formula::parse(text);
  formula.check(arguments());
  return formula.of(registers(), arguments());
}

}  // namespace

TEST_CASE("A formula counts cycles of what is in the registers", "[card][process]") {
  CHECK(cycles("120") == 120);
  CHECK(cycles("u1 4 * 120 +") == 4120);
  CHECK(cycles("s2 neg") == 3);
  CHECK(cycles("u2") == 65533);
  CHECK(cycles("s3 1 +") == 0);
  CHECK(cycles("u1 7 / ") == 143);  // 142.9, rounded up
  CHECK(cycles("u1 7 //") == 142);
  CHECK(cycles("s2 2 // neg") == 2);  // down, as in Python
  CHECK(cycles("s2 2 %") == 1);
  CHECK(cycles("u1 s2 % neg") == 2);
  CHECK(cycles("u1 2000 min 7 max") == 1000);
  CHECK(cycles("u1 0.5 *") == 500);
}

TEST_CASE("What is no count of cycles is said", "[card][process]") {
  CHECK_THROWS_WITH(cycles("s2"), "-3 cycles");
  CHECK_THROWS_WITH(cycles("u1 0 /"), "a division of 1000 by 0");
  CHECK_THROWS_WITH(cycles("u1 0 %"), "a division of 1000 by 0");
  CHECK_THROWS_AS(cycles("u3 u3 *"), std::domain_error);
  CHECK_THROWS_AS(cycles("u3 u3 * u3 * u3 * u3 u3 * - u3 u3 * *"), std::domain_error);
}

TEST_CASE("A formula that is none is refused", "[card][process]") {
  for (const char* const text :
       {"", "+", "1 +", "1 2", "1 2 + +", "neg", "u", "sx", "u1x", "1x", "x", "1 2 ** ", "nan"}) {
    CHECK_THROWS_AS(Formula::parse(text), DescriptionError);
  }
  std::string long_text = "1";
  for (int n = 0; n < 1000; ++n) {
    long_text += " neg";
  }
  CHECK_THROWS_AS(Formula::parse(long_text), DescriptionError);
  for (const char* const text : {"u0", "s4", "u5", "u1 u9 +"}) {
    CHECK_THROWS_AS(cycles(text), DescriptionError);
  }
}

TEST_CASE("A kernel takes the longer of its computing and its memory", "[card][process]") {
  constexpr isthmus::card::Time memory = 500;
  KernelOutcome outcome{.duration = 700, .bytes = 1, .logic = 700, .memory = memory};
  const Computing given{.source = Source::by_user, .time = 600, .least = 400};
  SECTION("in place of an element a clock") {
    outcome.compute_for(given, false);
    CHECK(outcome.duration == 600);
  }
  SECTION("while memory works") {
    outcome.compute_for({.source = Source::by_user, .time = 300, .least = 300}, false);
    CHECK(outcome.duration == memory);
  }
  SECTION("beside streams that have paced it") {
    outcome.compute_for(given, true);
    CHECK(outcome.duration == 700);
  }
  outcome += outcome;
  CHECK(outcome.memory == 2 * memory);
  CHECK(outcome.computing.source == Source::by_user);
}

#include "environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <thread>

namespace isthmus::card::clock {
namespace {

/// The first letters of all variables: it reads the list as getenv does, where sanitizers see it.
unsigned first_letters() {
  unsigned sum = 0;
  char** entry = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
  const auto next = [&entry] { return __atomic_load_n(entry++, __ATOMIC_ACQUIRE); };
  for (const char* text = next(); text != nullptr; text = next()) {
    sum += static_cast<unsigned char>(*text);
  }
  return sum;
}

}  // namespace

TEST_CASE("Variables may be set while others read them", "[environment]") {
  std::atomic<bool> ends = false;
  unsigned least = 0;
  std::thread reader([&] {
    for (least = first_letters(); !ends;) {
      least = std::min(least, first_letters());
    }
  });
  const unsigned before = first_letters();
  for (int n = 0; n < 2'000; ++n) {
    const std::string name = "ISTHMUS_VARIABLE_" + std::to_string(n);
    REQUIRE(set_variable(name.c_str(), "1", true) == 0);
  }
  ends = true;
  reader.join();
  CHECK(least >= before);
  CHECK(std::getenv("ISTHMUS_VARIABLE_0") == std::string("1"));
  CHECK(std::getenv("ISTHMUS_VARIABLE_1999") == std::string("1"));
}

TEST_CASE("A variable is set as setenv sets it", "[environment]") {
  const auto value = [](const char* name) { return std::string(std::getenv(name)); };
  REQUIRE(set_variable("ISTHMUS_ONE", "a", false) == 0);
  CHECK(value("ISTHMUS_ONE") == "a");
  REQUIRE(set_variable("ISTHMUS_ONE", "b", false) == 0);
  CHECK(value("ISTHMUS_ONE") == "a");
  REQUIRE(set_variable("ISTHMUS_ONE", "", true) == 0);
  CHECK(value("ISTHMUS_ONE").empty());
  const char* const same = std::getenv("ISTHMUS_ONE");
  REQUIRE(set_variable("ISTHMUS_ONE", "", true) == 0);
  CHECK(std::getenv("ISTHMUS_ONE") == same);
  REQUIRE(set_variable("ISTHMUS_ON", "shorter", true) == 0);
  CHECK(value("ISTHMUS_ONE").empty());

  REQUIRE(setenv("ISTHMUS_OF_LIBC", "1", 1) == 0);  // makes a list of its own
  REQUIRE(set_variable("ISTHMUS_TWO", "2", true) == 0);
  CHECK(value("ISTHMUS_OF_LIBC") == "1");
  CHECK(value("ISTHMUS_TWO") == "2");
  REQUIRE(unsetenv("ISTHMUS_TWO") == 0);
  CHECK(std::getenv("ISTHMUS_TWO") == nullptr);
}

}  // namespace isthmus::card::clock

#include "isthmus/numbers.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace isthmus {
namespace {

/// The text after the number; "none" if the text does not begin with a number.
template <class Number>
std::string behind(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = read_number(text.data(), end, value);
  return error == std::errc{} ? std::string(rest, end) : "none";
}

TEST_CASE("a real number is read up to the first other character", "[numbers]") {
  const auto [text, number, rest] = GENERATE(table<std::string, double, std::string>({
      {"2.5", 2.5, ""},
      {"20ns", 20, "ns"},
      {"1.5e3 us", 1500, " us"},
      {"-3", -3, ""},
      {".5,7", 0.5, ",7"},
      {"0x10", 0, "x10"},
      {"0.1", 0.1, ""},
  }));
  double value = 0;
  CHECK(behind(text, value) == rest);
  CHECK(value == number);
}

TEST_CASE("text without a real number keeps the value", "[numbers]") {
  const std::string text = GENERATE("", " 1", "+1", "-", ".", "e5", "inf", "nan", "1e999", "x");
  double value = 7;
  CHECK(behind(text, value) == "none");
  CHECK(value == 7);
}

TEST_CASE("a whole number ends at a decimal point", "[numbers]") {
  int value = 0;
  CHECK(behind(std::string("12.5"), value) == ".5");
  CHECK(value == 12);
}

}  // namespace
}  // namespace isthmus

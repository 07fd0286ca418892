// Numbers in text, read in the same way by every C++ library: GCC 10's has std::from_chars only for
// whole numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <ios>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>

namespace isthmus {

/// As std::from_chars in decimal, whatever the locale; nothing is infinite and nothing is no
/// number.
/// @param value   unchanged where no number is at the front of the text
/// @return the first character behind the number, and an error without one or if it is out of range
template <class Number>
std::from_chars_result read_number(const char* begin, const char* end, Number& value) {
  if constexpr (std::is_integral_v<Number>) {
    return std::from_chars(begin, end, value);
  } else {
    std::istringstream text(std::string(begin, end));
    text.imbue(std::locale::classic());
    Number read{};
    if (begin == end || *begin == '+' || !(text >> std::noskipws >> read)) {
      return {begin, std::errc::invalid_argument};
    }
    value = read;
    return {text.eof() ? end : begin + static_cast<std::ptrdiff_t>(text.tellg()), std::errc{}};
  }
}

}  // namespace isthmus

// Reads numbers from text alike in every C++ library: std::from_chars of GCC 10 reads only whole
// numbers.
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

/// Reads a decimal number like std::from_chars, whatever the locale; "inf" and "nan" are not read.
/// @param value   unchanged if the text does not begin with a number
/// @return the first character after the number; an error if there is no number or it is too large
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

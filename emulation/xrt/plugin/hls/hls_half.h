// Replaces AMD's header of this name, if that is absent: floating-point numbers
// of 16 bits (IEEE 754 binary16). Operations compute in float and round to the nearest, ties to
// even: for + - * / and sqrt that is the number nearest to the exact result.
#pragma once

#include "isthmus_standard.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <type_traits>

class half {
 public:
  using isthmus_half = void;
  using isthmus_plain = half;

  half() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  half(T value) : bits_(nearest(static_cast<double>(value))) {}
  /// Converts a number of ap_int.h or ap_fixed.h.
  template <class T, std::enable_if_t<std::is_class_v<T> && !std::is_same_v<T, half> &&
                                          std::is_convertible_v<T, double>,
                                      int> = 0>
  half(const T& value) : half(static_cast<double>(value)) {}

  operator float() const { return value_of(bits_); }
  [[nodiscard]] float isthmus_real() const { return value_of(bits_); }

  half operator+() const { return *this; }
  half operator-() const { return of(bits_ ^ sign_bit); }

  /// Returns the number with these bits.
  static constexpr half of(std::uint16_t bits) {
    half made{};
    made.bits_ = bits;
    return made;
  }

#define ISTHMUS_ASSIGNMENT(op)                        \
  template <class T>                                  \
  half& operator op## = (const T& other) {            \
    return *this = static_cast<half>(*this op other); \
  }
  ISTHMUS_ASSIGNMENT(+)
  ISTHMUS_ASSIGNMENT(-)
  ISTHMUS_ASSIGNMENT(*)
  ISTHMUS_ASSIGNMENT(/)
#undef ISTHMUS_ASSIGNMENT
  half& operator++() { return *this += 1; }
  half& operator--() { return *this -= 1; }
  half operator++(int) {
    const half before = *this;
    ++*this;
    return before;
  }
  half operator--(int) {
    const half before = *this;
    --*this;
    return before;
  }

 private:
  static constexpr std::uint16_t sign_bit = 0x8000;
  static constexpr std::uint16_t infinite = 0x7C00;
  static constexpr std::uint16_t no_number = 0x7E00;
  static constexpr int digits = 10;  // after the point
  static constexpr int bias = 15;
  static constexpr int least = 1 - bias;  // exponent

  static std::uint16_t nearest(double value) {
    const std::uint16_t sign = std::signbit(value) ? sign_bit : 0;
    if (std::isnan(value)) {
      return sign | no_number;
    }
    const double size = std::fabs(value);
    if (std::isinf(size)) {
      return sign | infinite;
    }
    const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
    // Below 2048: the significand as an integer.
    const double scaled = std::ldexp(size, digits - exponent);
    const double down = std::floor(scaled);
    const double rest = scaled - down;
    auto whole = exponent > bias ? 0U : static_cast<unsigned>(down);
    whole += rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? 1U : 0U;
    // A significand that rounds up to 2048 gets the next exponent.
    const unsigned made = exponent > bias
                              ? unsigned{infinite}
                              : (static_cast<unsigned>(exponent + bias - 1) << digits) + whole;
    return static_cast<std::uint16_t>(sign | std::min<unsigned>(made, infinite));
  }

  static float value_of(std::uint16_t bits) {
    const int exponent = (bits & infinite) >> digits;
    const int fraction = bits & ((1 << digits) - 1);
    float size = 0;
    if ((bits & infinite) == infinite) {
      size = fraction == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      size = std::ldexp(static_cast<float>(fraction), least - digits);
    } else {
      size = std::ldexp(static_cast<float>(fraction + (1 << digits)), exponent - bias - digits);
    }
    return (bits & sign_bit) != 0 ? -size : size;
  }

  std::uint16_t bits_;
};

namespace isthmus_halves {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, half>;
template <class Left, class Right>
using operands =
    std::enable_if_t<(is_half<Left> && (is_half<Right> || std::is_arithmetic_v<Right>)) ||
                         (is_half<Right> && std::is_arithmetic_v<Left>),
                     int>;
/// The type in which an operation computes: that operand's type that is wider than half, else
/// float.
template <class Left, class Right>
using wide = std::conditional_t<
    std::is_same_v<Left, double> || std::is_same_v<Right, double>, double,
    std::conditional_t<std::is_same_v<Left, long double> || std::is_same_v<Right, long double>,
                       long double, float>>;
/// The type of a result: half, unless the other operand is a float or double.
template <class Left, class Right>
using result = std::conditional_t<std::is_floating_point_v<Left> || std::is_floating_point_v<Right>,
                                  wide<Left, Right>, half>;
template <class Wide, class T>
Wide as(const T& value) {
  if constexpr (is_half<T>) {
    return static_cast<Wide>(value.isthmus_real());
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<Wide>(half(value).isthmus_real());
  } else {
    return static_cast<Wide>(value);
  }
}

}  // namespace isthmus_halves

#define ISTHMUS_OPERATOR(op)                                                              \
  template <class Left, class Right, isthmus_halves::operands<Left, Right> = 0>           \
  isthmus_halves::result<Left, Right> operator op(const Left& left, const Right& right) { \
    using Wide = isthmus_halves::wide<Left, Right>;                                       \
    return isthmus_halves::as<Wide>(left) op isthmus_halves::as<Wide>(right);             \
  }
ISTHMUS_OPERATOR(+)
ISTHMUS_OPERATOR(-)
ISTHMUS_OPERATOR(*)
ISTHMUS_OPERATOR(/)
#undef ISTHMUS_OPERATOR

#define ISTHMUS_COMPARISON(op)                                                  \
  template <class Left, class Right, isthmus_halves::operands<Left, Right> = 0> \
  bool operator op(const Left& left, const Right& right) {                      \
    return static_cast<double>(left) op static_cast<double>(right);             \
  }
ISTHMUS_COMPARISON(==)
ISTHMUS_COMPARISON(!=)
ISTHMUS_COMPARISON(<)
ISTHMUS_COMPARISON(>)
ISTHMUS_COMPARISON(<=)
ISTHMUS_COMPARISON(>=)
#undef ISTHMUS_COMPARISON

inline std::ostream& operator<<(std::ostream& out, const half& number) {
  return out << number.isthmus_real();
}
inline std::istream& operator>>(std::istream& in, half& number) {
  float value = 0;
  in >> value;
  number = value;
  return in;
}

template <>
class std::numeric_limits<half> : public std::numeric_limits<float> {
 public:
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr half min() noexcept { return half::of(0x0400); }
  static constexpr half max() noexcept { return half::of(0x7BFF); }
  static constexpr half lowest() noexcept { return half::of(0xFBFF); }
  static constexpr half epsilon() noexcept { return half::of(0x1400); }
  static constexpr half round_error() noexcept { return half::of(0x3800); }
  static constexpr half infinity() noexcept { return half::of(0x7C00); }
  static constexpr half quiet_NaN() noexcept { return half::of(0x7E00); }
  static constexpr half signaling_NaN() noexcept { return half::of(0x7D00); }
  static constexpr half denorm_min() noexcept { return half::of(0x0001); }
};

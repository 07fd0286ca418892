// Replaces AMD's header of this name, if that is absent: fixed-point numbers of
// up to 128 bits.
//
// Results are as wide as in HLS, so that no bit is lost before an assignment. The assignment rounds
// and overflows by the modes of the assigned type. A quotient has as many fractional bits as the
// dividend, and is rounded towards zero.
#pragma once

#include "isthmus_standard.h"

#include <ap_int.h>

#include <cmath>
#include <limits>

/// Modes of rounding.
enum ap_q_mode {
  AP_RND,          ///< to the nearest; a half upwards
  AP_RND_ZERO,     ///< to the nearest; a half towards zero
  AP_RND_MIN_INF,  ///< to the nearest; a half downwards
  AP_RND_INF,      ///< to the nearest; a half away from zero
  AP_RND_CONV,     ///< to the nearest; a half to the even number
  AP_TRN,          ///< downwards
  AP_TRN_ZERO      ///< towards zero
};
/// Modes of overflow.
enum ap_o_mode {
  AP_SAT,       ///< the largest or the smallest number
  AP_SAT_ZERO,  ///< zero
  AP_SAT_SYM,   ///< the largest number, or its negative
  AP_WRAP,      ///< the low bits
  AP_WRAP_SM
};

template <int bits, int integer_bits, bool is_signed, ap_q_mode rounding = AP_TRN,
          ap_o_mode overflow = AP_WRAP, int saturated = 0>
class ap_fixed_base;
template <int bits, int integer_bits, ap_q_mode rounding = AP_TRN, ap_o_mode overflow = AP_WRAP,
          int saturated = 0>
class ap_fixed;
template <int bits, int integer_bits, ap_q_mode rounding = AP_TRN, ap_o_mode overflow = AP_WRAP,
          int saturated = 0>
class ap_ufixed;

namespace isthmus_bits {

template <class T, class = void>
struct is_fixed : std::false_type {};
template <class T>
struct is_fixed<T, typename T::isthmus_fixed> : std::true_type {};

template <class T>
using bits_of =
    std::conditional_t<std::is_same_v<T, bool>, ap_int_base<1, false>,
                       ap_int_base<8 * static_cast<int>(sizeof(T)), std::is_signed_v<T>>>;

// Converts an operand to a fixed-point number.
template <int bits, int integer_bits, bool is_signed, ap_q_mode q, ap_o_mode o, int n>
const ap_fixed_base<bits, integer_bits, is_signed, q, o, n>& fixed(
    const ap_fixed_base<bits, integer_bits, is_signed, q, o, n>& number) {
  return number;
}
template <int bits, bool is_signed>
ap_fixed_base<bits, bits, is_signed> fixed(const ap_int_base<bits, is_signed>& number) {
  return number;
}
template <class Number>
auto fixed(const part<Number>& part) {
  return fixed(part.value());
}
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
auto fixed(T number) {
  return fixed(bits_of<T>(number));
}

/// Whether one operand is a fixed-point number, and the other one a fixed-point number or an
/// integer.
template <class Left, class Right>
using fixed_operands =
    std::enable_if_t<(is_fixed<Left>::value || is_fixed<Right>::value) &&
                         !std::is_floating_point_v<Left> && !std::is_floating_point_v<Right>,
                     int>;
template <class Left, class Right>
using fixed_and_floating =
    std::enable_if_t<(is_fixed<Left>::value && std::is_floating_point_v<Right>) ||
                         (is_fixed<Right>::value && std::is_floating_point_v<Left>),
                     int>;

/// Returns `number` without its last `count` bits (1 or more), rounded.
template <ap_q_mode rounding>
int128 rounded_off(int128 number, int count) {
  const bool negative = number < 0;
  const int128 down = negative ? -1 : 0;
  const int128 floor = count > 127 ? down : number >> count;
  const bool half = count > 128 ? negative : (number >> (count - 1) & 1) != 0;
  const bool more =
      count > 127 ? number != 0 : (number & ((static_cast<int128>(1) << (count - 1)) - 1)) != 0;
  const auto up = [&] {
    switch (rounding) {
      case AP_RND:
        return half;
      case AP_RND_ZERO:
        return half && (more || negative);
      case AP_RND_MIN_INF:
        return half && more;
      case AP_RND_INF:
        return half && (more || !negative);
      case AP_RND_CONV:
        return half && (more || (floor & 1) != 0);
      case AP_TRN_ZERO:
        return negative && (half || more);
      default:
        return false;
    }
  };
  return floor + (up() ? 1 : 0);
}

}  // namespace isthmus_bits

/// A number of `bits` bits, of which `integer_bits` are before the point.
template <int bits, int integer_bits, bool is_signed, ap_q_mode rounding, ap_o_mode overflow,
          int saturated>
class ap_fixed_base {
  static_assert(bits > 0 && bits <= 128, "this header's numbers of fixed point have 1 to 128 bits");
  static_assert(overflow != AP_WRAP_SM && saturated == 0,
                "this header has neither AP_WRAP_SM nor saturated bits of AP_WRAP");
  using int128 = isthmus_bits::int128;
  using uint128 = isthmus_bits::uint128;
  template <int, int, bool, ap_q_mode, ap_o_mode, int>
  friend class ap_fixed_base;

 public:
  using isthmus_fixed = void;
  using isthmus_plain = ap_fixed_base<bits, integer_bits, is_signed>;
  using Raw = ap_int_base<bits, is_signed>;
  static constexpr int width = bits;
  static constexpr int iwidth = integer_bits;
  static constexpr int fraction = bits - integer_bits;
  static constexpr bool sign_flag = is_signed;

  ap_fixed_base() = default;
  template <class T, isthmus_bits::number<T> = 0>
  ap_fixed_base(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int digits = std::numeric_limits<T>::digits;
      int exponent = 0;
      const T mantissa = std::frexp(value, &exponent);
      const T whole = std::isfinite(mantissa) ? std::ldexp(mantissa, digits) : 0;
      raw_ = kept(static_cast<int128>(whole), exponent - digits + fraction);
    } else {
      raw_ = kept(static_cast<int128>(value), fraction);
    }
  }
  template <int others, bool signs>
  ap_fixed_base(const ap_int_base<others, signs>& value)
      : raw_(kept(ap_fixed_base<others, others, signs>::whole(value), fraction)) {}
  template <class Number>
  ap_fixed_base(const isthmus_bits::part<Number>& part) : ap_fixed_base(part.value()) {}
  /// Converts a half of hls_half.h.
  template <class T, class = typename T::isthmus_half, class = void>
  ap_fixed_base(const T& value) : ap_fixed_base(value.isthmus_real()) {}
  template <int others, int places, bool signs, ap_q_mode q, ap_o_mode o, int n>
  ap_fixed_base(const ap_fixed_base<others, places, signs, q, o, n>& other)
      : raw_(kept(other.whole(), fraction - (others - places))) {}

  /// Returns the number with these bits.
  static ap_fixed_base of(const Raw& raw) {
    ap_fixed_base made;
    made.raw_ = raw;
    return made;
  }
  [[nodiscard]] const Raw& raw() const { return raw_; }

  // Rounds towards zero.
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  operator T() const {
    if constexpr (std::is_same_v<T, bool>) {
      return !is_zero();
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(to_double());
    } else {
      return static_cast<T>(integer());
    }
  }
  template <int others>
  operator ap_int<others>() const {
    return ap_int_base<others, true>(ap_int_base<128, true>::of(static_cast<uint128>(integer())));
  }
  template <int others>
  operator ap_uint<others>() const {
    return ap_int_base<others, false>(ap_int_base<128, true>::of(static_cast<uint128>(integer())));
  }
  [[nodiscard]] double to_double() const {
    return std::ldexp(static_cast<double>(whole()), -fraction);
  }
  [[nodiscard]] long double isthmus_real() const {
    return std::ldexp(static_cast<long double>(whole()), -fraction);
  }
  [[nodiscard]] float to_float() const { return static_cast<float>(to_double()); }
  [[nodiscard]] int to_int() const { return static_cast<int>(integer()); }
  [[nodiscard]] unsigned to_uint() const { return static_cast<unsigned>(integer()); }
  [[nodiscard]] long to_long() const { return static_cast<long>(integer()); }
  [[nodiscard]] std::int64_t to_int64() const { return static_cast<std::int64_t>(integer()); }
  [[nodiscard]] std::uint64_t to_uint64() const { return static_cast<std::uint64_t>(integer()); }

  auto range(int high, int low) { return raw_.range(high, low); }
  auto range(int high, int low) const { return raw_.range(high, low); }
  auto operator()(int high, int low) { return raw_.range(high, low); }
  auto operator()(int high, int low) const { return raw_.range(high, low); }
  auto range() { return raw_.range(bits - 1, 0); }
  auto range() const { return raw_.range(bits - 1, 0); }
  auto operator[](int bit) { return raw_[bit]; }
  auto operator[](int bit) const { return raw_[bit]; }
  [[nodiscard]] bool is_zero() const { return !raw_.or_reduce(); }
  [[nodiscard]] bool is_neg() const { return is_signed && raw_.test(bits - 1); }
  [[nodiscard]] int length() const { return bits; }
  [[nodiscard]] int wl() const { return bits; }
  [[nodiscard]] int iwl() const { return integer_bits; }

#define ISTHMUS_ASSIGNMENT(op)                      \
  template <class T>                                \
  ap_fixed_base& operator op## = (const T& other) { \
    return *this = ap_fixed_base(*this op other);   \
  }
  ISTHMUS_ASSIGNMENT(+)
  ISTHMUS_ASSIGNMENT(-)
  ISTHMUS_ASSIGNMENT(*)
  ISTHMUS_ASSIGNMENT(/)
  ISTHMUS_ASSIGNMENT(&)
  ISTHMUS_ASSIGNMENT(|)
  ISTHMUS_ASSIGNMENT(^)
  ISTHMUS_ASSIGNMENT(<<)
  ISTHMUS_ASSIGNMENT(>>)
#undef ISTHMUS_ASSIGNMENT
  ap_fixed_base& operator++() { return *this += 1; }
  ap_fixed_base& operator--() { return *this -= 1; }
  ap_fixed_base operator++(int) {
    const ap_fixed_base before = *this;
    ++*this;
    return before;
  }
  ap_fixed_base operator--(int) {
    const ap_fixed_base before = *this;
    --*this;
    return before;
  }
  ap_fixed_base operator+() const { return *this; }
  auto operator-() const {
    using Negative = ap_fixed_base<bits + 1, integer_bits + 1, true>;
    using Bits = typename Negative::Raw;
    return Negative::of(Bits::sum(Bits(0), ~Bits(raw_), true));
  }
  ap_fixed_base operator~() const { return of(~raw_); }
  bool operator!() const { return is_zero(); }
  // The result has the same bits: bits that are shifted out are lost. A negative number of places
  // shifts in the other direction.
  ap_fixed_base operator<<(int places) const {
    return of(places < 0 ? raw_ >> -places : raw_ << places);
  }
  ap_fixed_base operator>>(int places) const { return *this << -places; }

  /// Returns the number times 2 to the power of `fraction`.
  [[nodiscard]] int128 whole() const { return whole(raw_); }

 private:
  static int128 whole(const Raw& raw) {
    static_assert(bits + (is_signed ? 0 : 1) <= 128, "this header computes with 128 bits at most");
    return static_cast<int128>(raw.low_128());
  }
  [[nodiscard]] int128 integer() const {
    const int128 number = whole();
    if constexpr (fraction > 0) {
      return isthmus_bits::rounded_off<AP_TRN_ZERO>(number, fraction);
    } else {
      return fraction > -128 ? static_cast<int128>(static_cast<uint128>(number) << -fraction) : 0;
    }
  }

  /// Returns the stored bits for `number` / 2^`places`, after rounding and overflow.
  static Raw kept(int128 number, int places) {
    bool beyond = false;
    if (places < 0) {
      number = isthmus_bits::rounded_off<rounding>(number, -places);
    } else if (number != 0) {
      const int128 moved =
          places > 127 ? 0 : static_cast<int128>(static_cast<uint128>(number) << places);
      beyond = places > 127 || moved >> places != number;
      if (overflow != AP_WRAP && beyond) {
        return limit(number < 0);
      }
      number = moved;
    }
    if constexpr (overflow != AP_WRAP) {
      const uint128 size = static_cast<uint128>(number < 0 ? ~number : number);
      const bool least = number < 0 && overflow == AP_SAT_SYM && size == most();
      if (size > most() || (number < 0 && !is_signed) || least) {
        return limit(number < 0);
      }
    }
    return Raw::of(static_cast<uint128>(number));
  }
  static constexpr uint128 most() {
    constexpr int ones = is_signed ? bits - 1 : bits;
    return ones == 0 ? 0 : ~static_cast<uint128>(0) >> (128 - ones);
  }
  static Raw limit(bool negative) {
    if (overflow == AP_SAT_ZERO || (negative && !is_signed)) {
      return Raw(0);
    }
    const uint128 least = overflow == AP_SAT_SYM ? ~most() + 1 : ~most();
    return Raw::of(negative ? least : most());
  }

  Raw raw_ = Raw(0);
};

namespace isthmus_bits {

/// Widths and signs of results, and operands with equal numbers of fractional bits.
template <class Left, class Right>
struct fixed_results;
template <int one, int place, bool first, ap_q_mode q1, ap_o_mode o1, int n1, int other, int point,
          bool second, ap_q_mode q2, ap_o_mode o2, int n2>
struct fixed_results<ap_fixed_base<one, place, first, q1, o1, n1>,
                     ap_fixed_base<other, point, second, q2, o2, n2>> {
  static constexpr bool any_signed = first || second;
  static constexpr int left_fraction = one - place;
  static constexpr int right_fraction = other - point;
  static constexpr int left_integer = place + (second && !first ? 1 : 0);
  static constexpr int right_integer = point + (first && !second ? 1 : 0);
  static constexpr int integer = left_integer > right_integer ? left_integer : right_integer;
  static constexpr int fraction = left_fraction > right_fraction ? left_fraction : right_fraction;

  /// Type of a result with `more` further bits.
  template <int more, bool is_signed>
  struct aligned {
    using Bits = ap_int_base<integer + fraction + more, is_signed>;
    template <class Number>
    static Bits of(const Number& number) {
      return Bits(number.raw()) << (fraction - Number::fraction);
    }
  };
  template <int more, bool is_signed>
  using result = ap_fixed_base<integer + fraction + more, integer + more, is_signed>;
  using product = ap_fixed_base<one + other, place + point, any_signed>;
  static constexpr int shift = right_fraction > 0 ? right_fraction : 0;
  static constexpr int sign = second ? 1 : 0;
  using quotient = ap_fixed_base<one + shift + sign, place + right_fraction + sign, any_signed>;
};

#define ISTHMUS_OPERATION(name)      \
  template <class Left, class Right> \
  auto fixed_##name(const Left& left, const Right& right)
#define ISTHMUS_RESULTS fixed_results<Left, Right>

ISTHMUS_OPERATION(add) {
  using Results = ISTHMUS_RESULTS;
  using In = typename Results::template aligned<1, Results::any_signed>;
  return Results::template result<1, Results::any_signed>::of(
      In::Bits::sum(In::of(left), In::of(right), false));
}
ISTHMUS_OPERATION(subtract) {
  using Results = ISTHMUS_RESULTS;
  using In = typename Results::template aligned<1, true>;
  return Results::template result<1, true>::of(In::Bits::sum(In::of(left), ~In::of(right), true));
}
ISTHMUS_OPERATION(multiply) {
  return ISTHMUS_RESULTS::product::of(isthmus_bits::multiply(left.raw(), right.raw()));
}
ISTHMUS_OPERATION(divide) {
  using Results = ISTHMUS_RESULTS;
  using Dividend = ap_int_base<Left::width + Results::shift, Left::sign_flag>;
  return Results::quotient::of(
      isthmus_bits::divide(Dividend(left.raw()) << Results::shift, right.raw()));
}
template <class Left, class Right, class Logic>
auto fixed_logic(const Left& left, const Right& right, Logic logic) {
  using Results = ISTHMUS_RESULTS;
  using In = typename Results::template aligned<0, Results::any_signed>;
  return Results::template result<0, Results::any_signed>::of(
      In::Bits::word_by_word(In::of(left), In::of(right), logic));
}
ISTHMUS_OPERATION(both) {
  return fixed_logic(left, right, [](auto a, auto b) { return a & b; });
}
ISTHMUS_OPERATION(either) {
  return fixed_logic(left, right, [](auto a, auto b) { return a | b; });
}
ISTHMUS_OPERATION(differing) {
  return fixed_logic(left, right, [](auto a, auto b) { return a ^ b; });
}
ISTHMUS_OPERATION(less) {
  using Results = ISTHMUS_RESULTS;
  using In = typename Results::template aligned<0, Results::any_signed>;
  return In::Bits::less(In::of(left), In::of(right));
}
ISTHMUS_OPERATION(equal) {
  using Results = ISTHMUS_RESULTS;
  using In = typename Results::template aligned<0, Results::any_signed>;
  return In::Bits::equal(In::of(left), In::of(right));
}
ISTHMUS_OPERATION(unequal) { return !fixed_equal(left, right); }
ISTHMUS_OPERATION(greater) { return fixed_less(right, left); }
ISTHMUS_OPERATION(at_most) { return !fixed_less(right, left); }
ISTHMUS_OPERATION(at_least) { return !fixed_less(left, right); }
#undef ISTHMUS_RESULTS
#undef ISTHMUS_OPERATION

}  // namespace isthmus_bits

#define ISTHMUS_OPERATOR(op, name)                                                            \
  template <class Left, class Right, isthmus_bits::fixed_operands<Left, Right> = 0>           \
  auto operator op(const Left& left, const Right& right)                                      \
      ->decltype(isthmus_bits::fixed_##name(isthmus_bits::fixed(left),                        \
                                            isthmus_bits::fixed(right))) {                    \
    return isthmus_bits::fixed_##name(isthmus_bits::fixed(left), isthmus_bits::fixed(right)); \
  }
ISTHMUS_OPERATOR(+, add)
ISTHMUS_OPERATOR(-, subtract)
ISTHMUS_OPERATOR(*, multiply)
ISTHMUS_OPERATOR(/, divide)
ISTHMUS_OPERATOR(&, both)
ISTHMUS_OPERATOR(|, either)
ISTHMUS_OPERATOR(^, differing)
ISTHMUS_OPERATOR(==, equal)
ISTHMUS_OPERATOR(!=, unequal)
ISTHMUS_OPERATOR(<, less)
ISTHMUS_OPERATOR(>, greater)
ISTHMUS_OPERATOR(<=, at_most)
ISTHMUS_OPERATOR(>=, at_least)
#undef ISTHMUS_OPERATOR

// HLS lacks these operators.
#define ISTHMUS_REFUSED(op)                                                                      \
  template <class Left, class Right, isthmus_bits::fixed_and_floating<Left, Right> = 0>          \
  Left operator op(const Left& left, const Right& /*right*/) {                                   \
    static_assert(sizeof(Left) == 0,                                                             \
                  "ap_fixed and a number of floating point: make one type of both, for example " \
                  "ap_fixed<16, 8>(2.5)");                                                       \
    return left;                                                                                 \
  }
ISTHMUS_REFUSED(+)
ISTHMUS_REFUSED(-)
ISTHMUS_REFUSED(*)
ISTHMUS_REFUSED(/)
#undef ISTHMUS_REFUSED

#define ISTHMUS_COMPARISON(op)                                                          \
  template <class Left, class Right, isthmus_bits::fixed_and_floating<Left, Right> = 0> \
  bool operator op(const Left& left, const Right& right) {                              \
    return static_cast<double>(left) op static_cast<double>(right);                     \
  }
ISTHMUS_COMPARISON(==)
ISTHMUS_COMPARISON(!=)
ISTHMUS_COMPARISON(<)
ISTHMUS_COMPARISON(>)
ISTHMUS_COMPARISON(<=)
ISTHMUS_COMPARISON(>=)
#undef ISTHMUS_COMPARISON

/// Reads a floating-point number, as HLS does: as double.
template <int bits, int integer_bits, bool is_signed, ap_q_mode q, ap_o_mode o, int n>
std::istream& operator>>(std::istream& in,
                         ap_fixed_base<bits, integer_bits, is_signed, q, o, n>& number) {
  double value = 0;
  if (in >> value) {
    number = ap_fixed_base<bits, integer_bits, is_signed, q, o, n>(value);
  }
  return in;
}

/// Whether a number is negative: an overload beside those of <cmath>.
template <int bits, int integer_bits, bool is_signed, ap_q_mode q, ap_o_mode o, int n>
bool signbit(const ap_fixed_base<bits, integer_bits, is_signed, q, o, n>& number) {
  return number.is_neg();
}

/// Writes all digits.
template <int bits, int integer_bits, bool is_signed, ap_q_mode q, ap_o_mode o, int n>
std::ostream& operator<<(std::ostream& out,
                         const ap_fixed_base<bits, integer_bits, is_signed, q, o, n>& number) {
  constexpr int fraction = bits - integer_bits;
  const bool negative = number.is_neg();
  ap_int_base<bits + 1, true> size = number.raw();
  if (negative) {
    size = -size;
  }
  isthmus_bits::decimal digits(size);
  for (int places = fraction < 0 ? -fraction : fraction; places > 0; --places) {
    digits.change(fraction < 0 ? 2 : 5, 0);
  }
  return out << digits.text(negative, fraction < 0 ? 0 : fraction);
}

template <int bits, int integer_bits, ap_q_mode q, ap_o_mode o, int n>
class ap_fixed : public ap_fixed_base<bits, integer_bits, true, q, o, n> {
 public:
  using Base = ap_fixed_base<bits, integer_bits, true, q, o, n>;
  using Base::Base;
  ap_fixed() = default;
  ap_fixed(const Base& other) : Base(other) {}
};

template <int bits, int integer_bits, ap_q_mode q, ap_o_mode o, int n>
class ap_ufixed : public ap_fixed_base<bits, integer_bits, false, q, o, n> {
 public:
  using Base = ap_fixed_base<bits, integer_bits, false, q, o, n>;
  using Base::Base;
  ap_ufixed() = default;
  ap_ufixed(const Base& other) : Base(other) {}
};

namespace hls {

template <int bits, int integer_bits, ap_q_mode q, ap_o_mode o, int n>
struct isthmus_word<ap_fixed<bits, integer_bits, q, o, n>, void>
    : isthmus_bits_word<ap_fixed<bits, integer_bits, q, o, n>> {};
template <int bits, int integer_bits, ap_q_mode q, ap_o_mode o, int n>
struct isthmus_word<ap_ufixed<bits, integer_bits, q, o, n>, void>
    : isthmus_bits_word<ap_ufixed<bits, integer_bits, q, o, n>> {};

}  // namespace hls

// Replaces AMD's header of this name, if that is absent: integers of any number of bits.
//
// Results are as wide as in HLS, so that no bit is lost before an assignment, which wraps.
// Products, and operands of / and %, have at most 128 bits; wider ones do not compile. A part
// (`range`) has the width of its number in sums, logic and comparisons with an integer of this
// header. Elsewhere its low 64 bits count.
#pragma once

#include "isthmus_standard.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <type_traits>

template <int bits, bool is_signed, bool wide = (bits > 64)>
class ap_int_base;

namespace isthmus_bits {

template <int bits>
using narrowest = std::conditional_t<
    (bits <= 8), std::uint8_t,
    std::conditional_t<(bits <= 16), std::uint16_t,
                       std::conditional_t<(bits <= 32), std::uint32_t, std::uint64_t>>>;

__extension__ using uint128 = unsigned __int128;
__extension__ using int128 = __int128;

constexpr std::uint64_t low(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// Decimal digits of an integer, the last digit first.
class decimal {
 public:
  template <class Number>
  explicit decimal(const Number& number) {
    for (int bit = Number::width - 1; bit >= 0; --bit) {
      change(2, number.test(bit) ? 1 : 0);
    }
  }
  void change(unsigned factor, unsigned more) {
    for (char& digit : digits_) {
      more += factor * static_cast<unsigned>(digit - '0');
      digit = static_cast<char>('0' + more % 10);
      more /= 10;
    }
    for (; more != 0; more /= 10) {
      digits_ += static_cast<char>('0' + more % 10);
    }
  }
  /// Returns the digits, with a point before the last `behind` digits if these are not zero.
  [[nodiscard]] std::string text(bool negative, std::size_t behind = 0) const {
    std::string digits = digits_;
    digits.append(digits.size() > behind ? 0 : behind + 1 - digits.size(), '0');
    std::size_t zeros = 0;
    while (zeros < behind && digits[zeros] == '0') {
      ++zeros;
    }
    std::string text = negative ? "-" : "";
    text.append(digits.rbegin(), digits.rend() - static_cast<std::ptrdiff_t>(behind));
    if (behind > zeros) {
      text += '.';
      text.append(digits.rend() - static_cast<std::ptrdiff_t>(behind),
                  digits.rend() - static_cast<std::ptrdiff_t>(zeros));
    }
    return text;
  }

 private:
  std::string digits_;
};

template <class T>
using number = std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int>;

/// A reference to bits `high` to `low` of a number.
template <class Number>
class part {
 public:
  part(Number& of, int high, int low) : of_(of), high_(high), low_(low) {}
  part(const part&) = default;
  part& operator=(const part& other) {
    of_.put(high_, low_, other.value());
    return *this;
  }
  template <class T, number<T> = 0>
  part& operator=(T value) {
    of_.put(high_, low_, ap_int_base<Number::width, false>(value));
    return *this;
  }
  template <int bits, bool is_signed>
  part& operator=(const ap_int_base<bits, is_signed>& value) {
    of_.put(high_, low_, ap_int_base<Number::width, false>(value));
    return *this;
  }
  template <class Other>
  part& operator=(const part<Other>& other) {
    return *this = other.value();
  }

  /// Returns the part's value, as wide as its number.
  [[nodiscard]] ap_int_base<Number::width, false> value() const { return of_.get(high_, low_); }
  operator unsigned long long() const { return value().to_uint64(); }
  [[nodiscard]] int to_int() const { return value().to_int(); }
  [[nodiscard]] unsigned to_uint() const { return value().to_uint(); }
  [[nodiscard]] std::int64_t to_int64() const { return value().to_int64(); }
  [[nodiscard]] std::uint64_t to_uint64() const { return value().to_uint64(); }
  [[nodiscard]] int length() const { return high_ - low_ + 1; }

 private:
  Number& of_;
  int high_, low_;
};

/// Members of numbers of every width.
template <class Number, int bits>
class parts {
 public:
  static constexpr int width = bits;

  part<Number> range(int high, int low) { return {self(), high, low}; }
  part<Number> operator()(int high, int low) { return {self(), high, low}; }
  part<Number> range() { return {self(), bits - 1, 0}; }
  part<Number> operator[](int bit) { return {self(), bit, bit}; }
  part<Number> bit(int bit) { return {self(), bit, bit}; }
  part<const Number> range(int high, int low) const { return {self(), high, low}; }
  part<const Number> operator()(int high, int low) const { return {self(), high, low}; }
  bool operator[](int bit) const { return test(bit); }
  [[nodiscard]] bool bit(int bit) const { return test(bit); }
  [[nodiscard]] bool test(int bit) const { return self().get(bit, bit).to_uint64() != 0; }
  [[nodiscard]] bool get_bit(int bit) const { return test(bit); }
  void set_bit(int bit, bool value) { range(bit, bit) = static_cast<int>(value); }
  void set(int bit) { set_bit(bit, true); }
  void clear(int bit) { set_bit(bit, false); }
  void invert(int bit) { set_bit(bit, !test(bit)); }

  [[nodiscard]] int length() const { return bits; }
  [[nodiscard]] bool or_reduce() const { return static_cast<bool>(self()); }
  [[nodiscard]] bool and_reduce() const { return !static_cast<bool>(~self()); }
  [[nodiscard]] bool xor_reduce() const {
    bool odd = false;
    for (int n = 0; n < bits; ++n) {
      odd ^= test(n);
    }
    return odd;
  }
  [[nodiscard]] int to_int() const { return static_cast<int>(self().to_uint64()); }
  [[nodiscard]] unsigned to_uint() const { return static_cast<unsigned>(self().to_uint64()); }
  [[nodiscard]] long to_long() const { return static_cast<long>(self().to_uint64()); }
  [[nodiscard]] unsigned long to_ulong() const { return self().to_uint64(); }
  [[nodiscard]] std::int64_t to_int64() const {
    return static_cast<std::int64_t>(self().to_uint64());
  }

#define ISTHMUS_ASSIGNMENT(op)               \
  template <class T>                         \
  Number& operator op## = (const T& other) { \
    return self() = Number(self() op other); \
  }
  ISTHMUS_ASSIGNMENT(+)
  ISTHMUS_ASSIGNMENT(-)
  ISTHMUS_ASSIGNMENT(*)
  ISTHMUS_ASSIGNMENT(/)
  ISTHMUS_ASSIGNMENT(%)
  ISTHMUS_ASSIGNMENT(&)
  ISTHMUS_ASSIGNMENT(|)
  ISTHMUS_ASSIGNMENT(^)
#undef ISTHMUS_ASSIGNMENT
  template <class T>
  Number& operator<<=(const T& by) {
    return self() = self() << by;
  }
  template <class T>
  Number& operator>>=(const T& by) {
    return self() = self() >> by;
  }
  Number& operator++() { return *this += 1; }
  Number& operator--() { return *this -= 1; }
  Number operator++(int) {
    const Number before = self();
    ++*this;
    return before;
  }
  Number operator--(int) {
    const Number before = self();
    --*this;
    return before;
  }

  /// Returns the digits after a prefix (0b, 0o, 0x), as AMD's simulation prints them. Radix 2 has
  /// all digits. Radix 8 and 16 have no leading zeros, but a wide number has one. With `sign` a
  /// negative number has a sign, except in radix 2.
  [[nodiscard]] std::string to_string(int radix = 2, bool sign = true) const {
    const int step = radix == 16 ? 4 : radix == 8 ? 3 : 1;
    if (radix != 10 && radix != 1 << step) {
      throw std::invalid_argument("ap_int: a radix other than 2, 8, 10 and 16");
    }
    const bool negative = sign && radix != 2 && self() < 0;
    ap_int_base<bits + 1, true> size = self();
    if (negative) {
      size = -size;
    } else {
      size = ap_int_base<bits, false>(self());
    }
    if (radix == 10) {
      return decimal(size).text(negative);
    }
    std::string digits;
    for (int low = (bits - 1) / step * step; low >= 0; low -= step) {
      const int high = low + step > bits + 1 ? bits : low + step - 1;
      const char* const all = bits > 64 ? "0123456789ABCDEF" : "0123456789abcdef";
      digits += all[size.get(high, low).to_uint64()];
    }
    const std::size_t zeros = radix == 2 ? 0 : digits.find_first_not_of('0');
    if (zeros != 0) {
      digits = zeros == std::string::npos ? "" : digits.substr(zeros);
      digits = (bits > 64 || digits.empty() ? "0" : "") + digits;
    }
    return (negative ? "-0" : "0") +
           std::string(1, radix == 16  ? 'x'
                          : radix == 8 ? 'o'
                                       : 'b') +
           digits;
  }

 protected:
  /// Sets the number from digits of radix 2, 8, 10 or 16, after a sign and a prefix. The prefix 0b,
  /// 0o or 0x replaces `radix`. Throws std::invalid_argument for other text.
  void read(const char* digits, int radix) {
    const bool negative = *digits == '-';
    digits += negative || *digits == '+' ? 1 : 0;
    const int prefix = *digits == '0' ? radix_of_prefix(digits[1]) : 0;
    if (prefix != 0 && !(prefix == 2 && radix == 16)) {  // 0b1 may be hexadecimal, too
      radix = prefix;
      digits += 2;
    }
    if (*digits == '\0' || (radix != 2 && radix != 8 && radix != 10 && radix != 16)) {
      throw std::invalid_argument("ap_int: no digits, or a radix other than 2, 8, 10 and 16");
    }
    for (; *digits != '\0'; ++digits) {
      const char letter = static_cast<char>(*digits | 0x20);
      const bool is_letter = letter >= 'a' && letter <= 'f';
      const int digit = is_letter ? letter - 'a' + 10 : *digits - '0';
      if (digit < 0 || digit >= radix || (!is_letter && digit > 9)) {
        throw std::invalid_argument(std::string("ap_int: no digit of its radix: ") + *digits);
      }
      self().append(static_cast<unsigned>(radix), static_cast<unsigned>(digit));
    }
    if (negative) {
      self() = Number(-self());
    }
  }

 private:
  static int radix_of_prefix(char letter) {
    switch (letter | 0x20) {
      case 'b':
        return 2;
      case 'o':
        return 8;
      case 'x':
        return 16;
      default:
        return 0;
    }
  }
  Number& self() { return static_cast<Number&>(*this); }
  const Number& self() const { return static_cast<const Number&>(*this); }
};

}  // namespace isthmus_bits

/// A number of up to 64 bits.
template <int bits, bool is_signed>
class ap_int_base<bits, is_signed, false>
    : public isthmus_bits::parts<ap_int_base<bits, is_signed, false>, bits> {
  static_assert(bits > 0, "an integer has a bit at least");
  using Stored = isthmus_bits::narrowest<bits>;

 public:
  using Value = std::conditional_t < is_signed || bits<64, long long, unsigned long long>;

  using isthmus_plain = ap_int_base;
  ap_int_base() = default;
  /// Converts a half of hls_half.h; rounds towards zero.
  template <class T, class = typename T::isthmus_half, class = void>
  ap_int_base(const T& value) : ap_int_base(value.isthmus_real()) {}
  template <class T, isthmus_bits::number<T> = 0>
  ap_int_base(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      store(static_cast<std::uint64_t>(static_cast<long long>(value)));
    } else {
      store(static_cast<std::uint64_t>(value));
    }
  }
  template <int others, bool signs>
  ap_int_base(const ap_int_base<others, signs>& other) {
    store(other.to_uint64());
  }
  template <class Number>
  ap_int_base(const isthmus_bits::part<Number>& part) {
    store(part.to_uint64());
  }
  explicit ap_int_base(const char* digits, int radix = 10) { this->read(digits, radix); }

  operator Value() const {
    if constexpr (is_signed && bits < 64) {
      return static_cast<long long>(static_cast<std::uint64_t>(stored_) << (64 - bits)) >>
             (64 - bits);
    } else {
      return static_cast<Value>(stored_);
    }
  }
  /// Returns the value; a negative number has its sign in all 64 bits.
  [[nodiscard]] std::uint64_t to_uint64() const {
    return static_cast<std::uint64_t>(static_cast<Value>(*this));
  }
  [[nodiscard]] double to_double() const { return static_cast<double>(static_cast<Value>(*this)); }
  [[nodiscard]] long double isthmus_real() const { return static_cast<Value>(*this); }

  [[nodiscard]] ap_int_base<bits, false> get(int high, int low) const {
    return (static_cast<std::uint64_t>(stored_) >> low) & isthmus_bits::low(high - low + 1);
  }
  void put(int high, int low, const ap_int_base<bits, false>& value) {
    const std::uint64_t mask = isthmus_bits::low(high - low + 1) << low;
    store((stored_ & ~mask) | ((value.to_uint64() << low) & mask));
  }

  // The result has the number's width, as in HLS: bits that are shifted out are lost.
  ap_int_base operator~() const { return ~to_uint64(); }
  template <class T>
  ap_int_base operator<<(const T& by) const {
    const auto places = static_cast<long long>(by);
    return places >= bits ? 0 : to_uint64() << places;
  }
  template <class T>
  ap_int_base operator>>(const T& by) const {
    const auto places = static_cast<long long>(by);
    return static_cast<Value>(*this) >> (places < bits ? places : bits - 1) >>
           (places < bits ? 0 : 1);
  }

  // Operators use these functions: operands and result have this width.
  static ap_int_base of(isthmus_bits::uint128 value) { return static_cast<std::uint64_t>(value); }
  [[nodiscard]] isthmus_bits::uint128 low_128() const {
    return static_cast<isthmus_bits::uint128>(
        static_cast<isthmus_bits::int128>(static_cast<Value>(*this)));
  }
  static ap_int_base sum(const ap_int_base& left, const ap_int_base& right, bool carry) {
    return left.to_uint64() + right.to_uint64() + (carry ? 1 : 0);
  }
  template <class Logic>
  static ap_int_base word_by_word(const ap_int_base& left, const ap_int_base& right, Logic logic) {
    return logic(left.to_uint64(), right.to_uint64());
  }
  static bool equal(const ap_int_base& left, const ap_int_base& right) {
    return left.stored_ == right.stored_;
  }
  static bool less(const ap_int_base& left, const ap_int_base& right) {
    return static_cast<Value>(left) < static_cast<Value>(right);
  }
  void append(unsigned radix, unsigned digit) { store(to_uint64() * radix + digit); }

 private:
  void store(std::uint64_t value) {
    stored_ = static_cast<Stored>(value & isthmus_bits::low(bits));
  }
  Stored stored_ = 0;
};

/// A number of more than 64 bits: words of 64 bits, the low word first.
template <int bits, bool is_signed>
class ap_int_base<bits, is_signed, true>
    : public isthmus_bits::parts<ap_int_base<bits, is_signed, true>, bits> {
  static constexpr int words = (bits + 63) / 64;
  template <int, bool, bool>
  friend class ap_int_base;

 public:
  ap_int_base() = default;
  template <class T, isthmus_bits::number<T> = 0>
  ap_int_base(T value) {
    bool negative = false;
    if constexpr (std::is_signed_v<T>) {
      negative = value < 0;
    }
    fill(negative);
    word_[0] = static_cast<std::uint64_t>(value);
    trim();
  }
  template <int others, bool signs>
  ap_int_base(const ap_int_base<others, signs>& other) {
    fill(signs && other.test(others - 1));
    if constexpr (others > 64) {
      for (int n = 0; n < words && n < other.words; ++n) {
        word_[n] = other.word_[n];
      }
    } else {
      word_[0] = other.to_uint64();
    }
    trim();
  }
  template <class Number>
  ap_int_base(const isthmus_bits::part<Number>& part) : ap_int_base(part.value()) {}
  explicit ap_int_base(const char* digits, int radix = 10) { this->read(digits, radix); }

  using Value = std::conditional_t<is_signed, long long, unsigned long long>;
  /// Converts the low bits.
  operator Value() const { return static_cast<Value>(word_[0]); }
  explicit operator bool() const { return !equal(*this, ap_int_base()); }
  [[nodiscard]] std::uint64_t to_uint64() const { return word_[0]; }

  [[nodiscard]] ap_int_base<bits, false> get(int high, int low) const {
    ap_int_base<bits, false> found;
    for (int n = 0; n < words; ++n) {
      found.word_[n] = word_[n];
    }
    found.trim();
    found = found >> low;
    const int kept = high - low + 1;
    for (int n = 0; n < words; ++n) {
      const int left = kept - 64 * n;
      found.word_[n] &= left <= 0 ? 0 : isthmus_bits::low(left);
    }
    return found;
  }
  void put(int high, int low, const ap_int_base<bits, false>& value) {
    for (int at = low; at <= high;) {
      const int shift = at % 64;
      const int count = high - at + 1 < 64 - shift ? high - at + 1 : 64 - shift;
      const std::uint64_t mask = isthmus_bits::low(count) << shift;
      const std::uint64_t part = value.bits_at(at - low);
      word_[at / 64] = (word_[at / 64] & ~mask) | ((part << shift) & mask);
      at += count;
    }
  }

  ap_int_base operator~() const {
    ap_int_base made;
    for (int n = 0; n < words; ++n) {
      made.word_[n] = ~word_[n];
    }
    made.trim();
    return made;
  }
  template <class T>
  ap_int_base operator<<(const T& places) const {
    const int by = static_cast<int>(places);
    ap_int_base made;
    for (int n = by / 64; n < words; ++n) {
      made.word_[n] = word_[n - by / 64] << by % 64;
      if (by % 64 != 0 && n > by / 64) {
        made.word_[n] |= word_[n - by / 64 - 1] >> (64 - by % 64);
      }
    }
    made.trim();
    return made;
  }
  template <class T>
  ap_int_base operator>>(const T& places) const {
    const int by = static_cast<int>(places);
    ap_int_base made;
    made.fill(negative());
    for (int n = 0; n + by / 64 < words; ++n) {
      made.word_[n] = bits_at(64 * n + by);
    }
    made.trim();
    return made;
  }

  static ap_int_base of(isthmus_bits::uint128 value) {
    static_assert(words == 2, "more than 128 bits");
    ap_int_base made;
    made.word_[0] = static_cast<std::uint64_t>(value);
    made.word_[1] = static_cast<std::uint64_t>(value >> 64U);
    made.trim();
    return made;
  }
  [[nodiscard]] isthmus_bits::uint128 low_128() const {
    return static_cast<isthmus_bits::uint128>(word_[1]) << 64U | word_[0];
  }
  static ap_int_base sum(ap_int_base left, const ap_int_base& right, bool carry) {
    for (int n = 0; n < words; ++n) {
      const auto sum =
          static_cast<isthmus_bits::uint128>(left.word_[n]) + right.word_[n] + (carry ? 1 : 0);
      left.word_[n] = static_cast<std::uint64_t>(sum);
      carry = sum >> 64U != 0;
    }
    left.trim();
    return left;
  }
  template <class Logic>
  static ap_int_base word_by_word(ap_int_base left, const ap_int_base& right, Logic logic) {
    for (int n = 0; n < words; ++n) {
      left.word_[n] = logic(left.word_[n], right.word_[n]);
    }
    left.trim();
    return left;
  }
  static bool equal(const ap_int_base& left, const ap_int_base& right) {
    return std::memcmp(left.word_, right.word_, sizeof(left.word_)) == 0;
  }
  static bool less(const ap_int_base& left, const ap_int_base& right) {
    if (left.negative() != right.negative()) {
      return left.negative();
    }
    for (int n = words - 1; n > 0; --n) {
      if (left.word_[n] != right.word_[n]) {
        return left.word_[n] < right.word_[n];
      }
    }
    return left.word_[0] < right.word_[0];
  }
  void append(unsigned radix, unsigned digit) {
    isthmus_bits::uint128 carry = digit;
    for (std::uint64_t& word : word_) {
      carry += static_cast<isthmus_bits::uint128>(word) * radix;
      word = static_cast<std::uint64_t>(carry);
      carry >>= 64U;
    }
    trim();
  }

 private:
  [[nodiscard]] bool negative() const { return is_signed && (word_[words - 1] >> 63U) != 0; }
  /// Returns 64 bits from bit `low` on.
  [[nodiscard]] std::uint64_t bits_at(int low) const {
    const std::uint64_t beyond = negative() ? ~std::uint64_t{0} : 0;
    const auto at = [&](int n) { return n < words ? word_[n] : beyond; };
    return low % 64 == 0 ? at(low / 64)
                         : at(low / 64) >> low % 64 | at(low / 64 + 1) << (64 - low % 64);
  }
  void fill(bool ones) { std::memset(word_, ones ? 0xFF : 0, sizeof(word_)); }
  /// Sets the bits above the number to 0, or to its sign.
  void trim() {
    constexpr int used = bits - 64 * (words - 1);
    std::uint64_t& top = word_[words - 1];
    const bool sign = is_signed && ((top >> (used - 1)) & 1U) != 0;
    top = sign ? top | ~isthmus_bits::low(used) : top & isthmus_bits::low(used);
  }

  std::uint64_t word_[words] = {};
};

namespace isthmus_bits {

/// The integer type of a C++ number or enumeration.
template <class T, bool = std::is_enum_v<T>>
struct integer_of {
  using type = T;
};
template <class T>
struct integer_of<T, true> : std::underlying_type<T> {};
template <class T>
using integer = std::enable_if_t<std::is_integral_v<typename integer_of<T>::type>, int>;

/// Widths and signs of results, as in HLS.
template <int one, bool first, int other, bool second>
struct results {
  static constexpr bool any_signed = first || second;
  static constexpr int left = one + (second && !first ? 1 : 0);
  static constexpr int right = other + (first && !second ? 1 : 0);
  static constexpr int common_bits = left > right ? left : right;
  using common = ap_int_base<common_bits, any_signed>;
  using sum = ap_int_base<common_bits + 1, any_signed>;
  using difference = ap_int_base<common_bits + 1, true>;
  using product = ap_int_base<one + other, any_signed>;
  static constexpr int quotient_bits = one + (second ? 1 : 0);
  using quotient = ap_int_base<quotient_bits, any_signed>;
  using rest = ap_int_base<(one < right ? one : right), first>;
};

#define ISTHMUS_OPERATION(name)                          \
  template <int one, bool first, int other, bool second> \
  auto name(const ap_int_base<one, first>& left, const ap_int_base<other, second>& right)
#define ISTHMUS_RESULTS results<one, first, other, second>

ISTHMUS_OPERATION(add) {
  using Sum = typename ISTHMUS_RESULTS::sum;
  return Sum::sum(Sum(left), Sum(right), false);
}
ISTHMUS_OPERATION(subtract) {
  using Difference = typename ISTHMUS_RESULTS::difference;
  return Difference::sum(Difference(left), ~Difference(right), true);
}
ISTHMUS_OPERATION(multiply) {
  static_assert(one + other <= 128, "this header's products have 128 bits at most");
  return ISTHMUS_RESULTS::product::of(left.low_128() * right.low_128());
}
ISTHMUS_OPERATION(divide) {
  using Results = ISTHMUS_RESULTS;
  static_assert(Results::common_bits <= 128 && Results::quotient_bits <= 128,
                "this header divides 128 bits at most");
  using Number = std::conditional_t<Results::any_signed, int128, uint128>;
  return Results::quotient::of(static_cast<uint128>(static_cast<Number>(left.low_128()) /
                                                    static_cast<Number>(right.low_128())));
}
ISTHMUS_OPERATION(remainder) {
  using Results = ISTHMUS_RESULTS;
  static_assert(Results::common_bits <= 128 && Results::quotient_bits <= 128,
                "this header divides 128 bits at most");
  using Number = std::conditional_t<Results::any_signed, int128, uint128>;
  return Results::rest::of(static_cast<uint128>(static_cast<Number>(left.low_128()) %
                                                static_cast<Number>(right.low_128())));
}
ISTHMUS_OPERATION(both) {
  using Common = typename ISTHMUS_RESULTS::common;
  return Common::word_by_word(left, right, [](auto a, auto b) { return a & b; });
}
ISTHMUS_OPERATION(either) {
  using Common = typename ISTHMUS_RESULTS::common;
  return Common::word_by_word(left, right, [](auto a, auto b) { return a | b; });
}
ISTHMUS_OPERATION(differing) {
  using Common = typename ISTHMUS_RESULTS::common;
  return Common::word_by_word(left, right, [](auto a, auto b) { return a ^ b; });
}
ISTHMUS_OPERATION(equal) { return ISTHMUS_RESULTS::common::equal(left, right); }
ISTHMUS_OPERATION(unequal) { return !ISTHMUS_RESULTS::common::equal(left, right); }
ISTHMUS_OPERATION(less) { return ISTHMUS_RESULTS::common::less(left, right); }
ISTHMUS_OPERATION(greater) { return ISTHMUS_RESULTS::common::less(right, left); }
ISTHMUS_OPERATION(at_most) { return !ISTHMUS_RESULTS::common::less(right, left); }
ISTHMUS_OPERATION(at_least) { return !ISTHMUS_RESULTS::common::less(left, right); }
#undef ISTHMUS_RESULTS
#undef ISTHMUS_OPERATION

template <class T>
using number_of =
    ap_int_base<8 * static_cast<int>(sizeof(T)), std::is_signed_v<typename integer_of<T>::type>>;
template <class Number>
using part_of = ap_int_base<Number::width, false>;
template <class Number>
using factor_of = ap_int_base<(Number::width < 64 ? Number::width : 64), false>;

}  // namespace isthmus_bits

#define ISTHMUS_OPERATOR(op, name, part_as)                                                        \
  template <int one, bool first, int other, bool second>                                           \
  auto operator op(const ap_int_base<one, first>& left, const ap_int_base<other, second>& right) { \
    return isthmus_bits::name(left, right);                                                        \
  }                                                                                                \
  template <int bits, bool is_signed, class T, isthmus_bits::integer<T> = 0>                       \
  auto operator op(const ap_int_base<bits, is_signed>& left, T right) {                            \
    return isthmus_bits::name(left, isthmus_bits::number_of<T>(right));                            \
  }                                                                                                \
  template <class T, int bits, bool is_signed, isthmus_bits::integer<T> = 0>                       \
  auto operator op(T left, const ap_int_base<bits, is_signed>& right) {                            \
    return isthmus_bits::name(isthmus_bits::number_of<T>(left), right);                            \
  }                                                                                                \
  template <int bits, bool is_signed, class Number>                                                \
  auto operator op(const ap_int_base<bits, is_signed>& left,                                       \
                   const isthmus_bits::part<Number>& right) {                                      \
    return isthmus_bits::name(left, isthmus_bits::part_as<Number>(right));                         \
  }                                                                                                \
  template <class Number, int bits, bool is_signed>                                                \
  auto operator op(const isthmus_bits::part<Number>& left,                                         \
                   const ap_int_base<bits, is_signed>& right) {                                    \
    return isthmus_bits::name(isthmus_bits::part_as<Number>(left), right);                         \
  }
ISTHMUS_OPERATOR(+, add, part_of)
ISTHMUS_OPERATOR(-, subtract, part_of)
ISTHMUS_OPERATOR(*, multiply, factor_of)
ISTHMUS_OPERATOR(/, divide, factor_of)
ISTHMUS_OPERATOR(%, remainder, factor_of)
ISTHMUS_OPERATOR(&, both, part_of)
ISTHMUS_OPERATOR(|, either, part_of)
ISTHMUS_OPERATOR(^, differing, part_of)
ISTHMUS_OPERATOR(==, equal, part_of)
ISTHMUS_OPERATOR(!=, unequal, part_of)
ISTHMUS_OPERATOR(<, less, part_of)
ISTHMUS_OPERATOR(>, greater, part_of)
ISTHMUS_OPERATOR(<=, at_most, part_of)
ISTHMUS_OPERATOR(>=, at_least, part_of)
#undef ISTHMUS_OPERATOR

template <int bits, bool is_signed>
auto operator-(const ap_int_base<bits, is_signed>& number) {
  return isthmus_bits::subtract(ap_int_base<1, false>(0), number);
}

/// Returns `left` in the bits above `right`, as HLS's comma operator does; at most 64 bits.
template <int one, bool first, int other, bool second>
ap_int_base<one + other, false> operator,(const ap_int_base<one, first>& left,
                                          const ap_int_base<other, second>& right) {
  ap_int_base<one + other, false> made = ap_int_base<one, false>(left);
  made = made << other;
  return made | ap_int_base<one + other, false>(ap_int_base<other, false>(right));
}

template <int bits, bool is_signed>
std::ostream& operator<<(std::ostream& out, const ap_int_base<bits, is_signed>& number) {
  const auto base = out.flags() & std::ios::basefield;
  const int radix = base == std::ios::hex ? 16 : base == std::ios::oct ? 8 : 10;
  return out << number.to_string(radix, radix == 10);
}

/// Reads digits of the stream's radix (std::dec, std::hex), or of the radix of their prefix.
template <int bits, bool is_signed>
std::istream& operator>>(std::istream& in, ap_int_base<bits, is_signed>& number) {
  std::string digits;
  if (in >> digits) {
    try {
      const auto base = in.flags() & std::ios::basefield;
      const int radix = base == std::ios::hex ? 16 : base == std::ios::oct ? 8 : 10;
      number = ap_int_base<bits, is_signed>(digits.c_str(), radix);
    } catch (const std::invalid_argument&) {
      in.setstate(std::ios::failbit);
    }
  }
  return in;
}

template <int bits>
class ap_int : public ap_int_base<bits, true> {
 public:
  using ap_int_base<bits, true>::ap_int_base;
  ap_int() = default;
  ap_int(const ap_int_base<bits, true>& other) : ap_int_base<bits, true>(other) {}
};

template <int bits>
class ap_uint : public ap_int_base<bits, false> {
 public:
  using ap_int_base<bits, false>::ap_int_base;
  ap_uint() = default;
  ap_uint(const ap_int_base<bits, false>& other) : ap_int_base<bits, false>(other) {}
};

namespace hls {

template <class T, class>
struct isthmus_word;

/// Number of bytes on a stream: ap_uint<24> has three there, and four in memory.
template <class T>
struct isthmus_bits_word {
  static constexpr std::size_t data_bytes = (T::width + 7) / 8;
  static constexpr std::size_t sideband_bytes = 0;
  static void pack(const T& value, void* data, void* /*sideband*/) {
    std::memcpy(data, static_cast<const void*>(&value), data_bytes);
  }
  static void unpack(T& value, const void* data, const void* /*sideband*/) {
    std::memcpy(static_cast<void*>(&value), data, data_bytes);
  }
};
template <int bits>
struct isthmus_word<ap_int<bits>, void> : isthmus_bits_word<ap_int<bits>> {};
template <int bits>
struct isthmus_word<ap_uint<bits>, void> : isthmus_bits_word<ap_uint<bits>> {};

}  // namespace hls

#include <ap_fixed.h>  // AMD's header gives fixed-point numbers, too

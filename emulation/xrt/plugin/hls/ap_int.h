// Stands in for AMD's header of the name, where that is not there: integers of any number of bits.
//
// Up to 64 bits they compute as C++ does with 64 bits, in which all that HLS lets results grow to
// has room, and wrap when they are stored. Wider ones are words of memory: parts, logic, shifts,
// sums, differences and comparisons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
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

constexpr std::uint64_t low(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

template <class T>
using number = std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int>;

/// Bits `high` to `low` of a number, which can be set.
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

  /// As wide as the number of which it is a part.
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

/// What numbers of every width have.
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
  /// Its digits, of the radix 2 or 16.
  [[nodiscard]] std::string to_string(int radix = 2) const {
    const int step = radix == 16 ? 4 : 1;
    std::string digits;
    for (int low = (bits - 1) / step * step; low >= 0; low -= step) {
      const int high = low + step > bits ? bits - 1 : low + step - 1;
      digits += "0123456789abcdef"[self().get(high, low).to_uint64()];
    }
    return digits;
  }

 private:
  Number& self() { return static_cast<Number&>(*this); }
  const Number& self() const { return static_cast<const Number&>(*this); }
};

}  // namespace isthmus_bits

/// Up to 64 bits.
template <int bits, bool is_signed>
class ap_int_base<bits, is_signed, false>
    : public isthmus_bits::parts<ap_int_base<bits, is_signed, false>, bits> {
  static_assert(bits > 0, "an integer has a bit at least");
  using Stored = isthmus_bits::narrowest<bits>;

 public:
  using Value = std::conditional_t < is_signed || bits<64, long long, unsigned long long>;

  ap_int_base() = default;
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

  operator Value() const {
    if constexpr (is_signed && bits < 64) {
      return static_cast<long long>(static_cast<std::uint64_t>(stored_) << (64 - bits)) >>
             (64 - bits);
    } else {
      return static_cast<Value>(stored_);
    }
  }
  /// Its value, a negative one in all 64 bits.
  [[nodiscard]] std::uint64_t to_uint64() const {
    return static_cast<std::uint64_t>(static_cast<Value>(*this));
  }
  [[nodiscard]] double to_double() const { return static_cast<double>(static_cast<Value>(*this)); }

  [[nodiscard]] ap_int_base<bits, false> get(int high, int low) const {
    return (static_cast<std::uint64_t>(stored_) >> low) & isthmus_bits::low(high - low + 1);
  }
  void put(int high, int low, const ap_int_base<bits, false>& value) {
    const std::uint64_t mask = isthmus_bits::low(high - low + 1) << low;
    store((stored_ & ~mask) | ((value.to_uint64() << low) & mask));
  }

  // Of its own width, as in HLS: what is shifted out is lost.
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
  template <class T>
  ap_int_base& operator<<=(const T& by) {
    return *this = *this << by;
  }
  template <class T>
  ap_int_base& operator>>=(const T& by) {
    return *this = *this >> by;
  }
#define ISTHMUS_ASSIGNMENT(op)                         \
  template <class T>                                   \
  ap_int_base& operator op## = (const T& other) {      \
    return *this = static_cast<Value>(*this) op other; \
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
  ap_int_base& operator++() { return *this += 1; }
  ap_int_base& operator--() { return *this -= 1; }
  ap_int_base operator++(int) {
    const ap_int_base before = *this;
    ++*this;
    return before;
  }
  ap_int_base operator--(int) {
    const ap_int_base before = *this;
    --*this;
    return before;
  }

 private:
  void store(std::uint64_t value) {
    stored_ = static_cast<Stored>(value & isthmus_bits::low(bits));
  }
  Stored stored_ = 0;
};

/// More than 64 bits: words of 64, the low one first.
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
  /// Hexadecimal digits; those of other radices are not read.
  explicit ap_int_base(const char* digits, int /*radix*/ = 16) {
    for (const char* digit = digits; *digit != '\0'; ++digit) {
      const char letter = static_cast<char>(*digit | 0x20);
      if (letter == 'x') {
        continue;
      }
      *this <<= 4;
      word_[0] |= static_cast<std::uint64_t>(letter >= 'a' ? letter - 'a' + 10 : *digit - '0');
    }
  }

  template <class T, isthmus_bits::number<T> = 0>
  explicit operator T() const {
    if constexpr (std::is_same_v<T, bool>) {
      return *this != ap_int_base();
    } else {
      return static_cast<T>(word_[0]);
    }
  }
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
  ap_int_base operator<<(int by) const {
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
  ap_int_base operator>>(int by) const {
    ap_int_base made;
    made.fill(negative());
    for (int n = 0; n + by / 64 < words; ++n) {
      made.word_[n] = bits_at(64 * n + by);
    }
    made.trim();
    return made;
  }
  ap_int_base& operator<<=(int by) { return *this = *this << by; }
  ap_int_base& operator>>=(int by) { return *this = *this >> by; }
  friend ap_int_base operator&(ap_int_base left, const ap_int_base& right) {
    for (int n = 0; n < words; ++n) {
      left.word_[n] &= right.word_[n];
    }
    return left;
  }
  friend ap_int_base operator|(ap_int_base left, const ap_int_base& right) {
    for (int n = 0; n < words; ++n) {
      left.word_[n] |= right.word_[n];
    }
    return left;
  }
  friend ap_int_base operator^(ap_int_base left, const ap_int_base& right) {
    for (int n = 0; n < words; ++n) {
      left.word_[n] ^= right.word_[n];
    }
    return left;
  }
  friend ap_int_base operator+(ap_int_base left, const ap_int_base& right) {
    bool carry = false;
    for (int n = 0; n < words; ++n) {
      const std::uint64_t sum = left.word_[n] + right.word_[n] + (carry ? 1 : 0);
      carry = sum < left.word_[n] || (carry && sum == left.word_[n]);
      left.word_[n] = sum;
    }
    left.trim();
    return left;
  }
  friend ap_int_base operator-(const ap_int_base& left, const ap_int_base& right) {
    return left + ~right + ap_int_base(1);
  }
  ap_int_base operator-() const { return ap_int_base(0) - *this; }
  ap_int_base& operator&=(const ap_int_base& right) { return *this = *this & right; }
  ap_int_base& operator|=(const ap_int_base& right) { return *this = *this | right; }
  ap_int_base& operator^=(const ap_int_base& right) { return *this = *this ^ right; }
  ap_int_base& operator+=(const ap_int_base& right) { return *this = *this + right; }
  ap_int_base& operator-=(const ap_int_base& right) { return *this = *this - right; }
  ap_int_base& operator++() { return *this += 1; }
  ap_int_base& operator--() { return *this -= 1; }

  friend bool operator==(const ap_int_base& left, const ap_int_base& right) {
    return std::memcmp(left.word_, right.word_, sizeof(left.word_)) == 0;
  }
  friend bool operator!=(const ap_int_base& left, const ap_int_base& right) {
    return !(left == right);
  }
  friend bool operator<(const ap_int_base& left, const ap_int_base& right) {
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
  friend bool operator>(const ap_int_base& left, const ap_int_base& right) { return right < left; }
  friend bool operator<=(const ap_int_base& left, const ap_int_base& right) {
    return !(right < left);
  }
  friend bool operator>=(const ap_int_base& left, const ap_int_base& right) {
    return !(left < right);
  }

 private:
  [[nodiscard]] bool negative() const { return is_signed && (word_[words - 1] >> 63U) != 0; }
  /// 64 bits from there on.
  [[nodiscard]] std::uint64_t bits_at(int low) const {
    const std::uint64_t beyond = negative() ? ~std::uint64_t{0} : 0;
    const auto at = [&](int n) { return n < words ? word_[n] : beyond; };
    return low % 64 == 0 ? at(low / 64)
                         : at(low / 64) >> low % 64 | at(low / 64 + 1) << (64 - low % 64);
  }
  void fill(bool ones) { std::memset(word_, ones ? 0xFF : 0, sizeof(word_)); }
  /// Bits above the number's are 0, or as its sign.
  void trim() {
    constexpr int used = bits - 64 * (words - 1);
    std::uint64_t& top = word_[words - 1];
    const bool sign = is_signed && ((top >> (used - 1)) & 1U) != 0;
    top = sign ? top | ~isthmus_bits::low(used) : top & isthmus_bits::low(used);
  }

  std::uint64_t word_[words] = {};
};

/// `left` above `right`: with 64 bits at most, as HLS's comma makes it of numbers.
template <int one, bool first, int other, bool second>
ap_int_base<one + other, false> operator,(const ap_int_base<one, first>& left,
                                          const ap_int_base<other, second>& right) {
  ap_int_base<one + other, false> made = ap_int_base<one, false>(left);
  made = made << other;
  return made | ap_int_base<one + other, false>(ap_int_base<other, false>(right));
}

template <int bits, bool is_signed>
std::ostream& operator<<(std::ostream& out, const ap_int_base<bits, is_signed>& number) {
  if constexpr (bits > 64) {
    return out << "0x" << number.to_string(16);
  } else {
    return out << static_cast<typename ap_int_base<bits, is_signed>::Value>(number);
  }
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

/// As many bytes as the bits need: ap_uint<24> has three on a stream, and four in memory.
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

// Replaces AMD's header of this name, if that is absent: the functions of C++
// in namespace hls, and the additional functions of HLS. They round as this machine's library;
// HLS's results may differ in the last places.
//
// For half they compute in float. For ap_fixed and ap_int they compute in long double; the result
// has the argument's bits, is rounded down, and wraps on overflow, as in HLS (UG1399, Fixed-Point
// Math Functions: the modes of the argument's type do not apply).
#pragma once

#include "isthmus_standard.h"

#include <hls_half.h>

#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace hls {

using std::abs, std::fabs, std::fmod, std::remainder, std::remquo, std::fma, std::fmax, std::fmin,
    std::fdim;
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cos,
    std::cosh, std::sin, std::sinh, std::tan, std::tanh;
using std::cbrt, std::exp, std::exp2, std::expm1, std::hypot, std::log, std::log10, std::log1p,
    std::log2, std::pow, std::sqrt;
using std::ceil, std::floor, std::llrint, std::llround, std::lrint, std::lround, std::nearbyint,
    std::rint, std::round, std::trunc;
using std::copysign, std::frexp, std::ilogb, std::ldexp, std::logb, std::modf, std::nan,
    std::nextafter, std::nexttoward, std::scalbn;
using std::erf, std::erfc, std::lgamma, std::tgamma;
using std::isfinite, std::isgreater, std::isgreaterequal, std::isinf, std::isless, std::islessequal,
    std::islessgreater, std::isnan, std::isnormal, std::isunordered, std::signbit;

template <class T>
using isthmus_arithmetic = std::enable_if_t<std::is_arithmetic_v<T>, int>;

// Functions that HLS has and C++ lacks.
inline constexpr long double isthmus_pi = 3.14159265358979323846264338327950288L;
template <class T, isthmus_arithmetic<T> = 0>
T recip(T value) {
  return T(1) / value;
}
template <class T, isthmus_arithmetic<T> = 0>
T rsqrt(T value) {
  return T(1) / std::sqrt(value);
}
template <class T, isthmus_arithmetic<T> = 0>
T divide(T left, T right) {
  return left / right;
}
template <class T, isthmus_arithmetic<T> = 0>
auto exp10(T value) {
  return std::pow(T(10), value);
}
/// Computes sine or cosine of multiples of pi, exactly for quarters of a turn.
template <class T, isthmus_arithmetic<T> = 0>
auto sinpi(T value) {
  const auto rest = std::remainder(static_cast<long double>(value), 2.0L);  // -1 to 1
  const long double size = std::fabs(rest);
  const long double part = size > 0.5L ? 1 - size : size;
  return static_cast<decltype(std::sin(value))>(
      std::copysign(std::sin(isthmus_pi * part), static_cast<long double>(rest)));
}
template <class T, isthmus_arithmetic<T> = 0>
auto cospi(T value) {
  const long double size = std::fabs(std::remainder(static_cast<long double>(value), 2.0L));
  const long double sine = std::sin(isthmus_pi * (0.5L - size));
  return static_cast<decltype(std::cos(value))>(size == 0.5L ? 0.0L : sine);
}
template <class T, isthmus_arithmetic<T> = 0>
auto tanpi(T value) {
  return sinpi(value) / cospi(value);
}
#define ISTHMUS_OVER_PI(name)                                                                   \
  template <class T, isthmus_arithmetic<T> = 0>                                                 \
  auto name##pi(T value) {                                                                      \
    return static_cast<decltype(std::name(value))>(std::name(static_cast<long double>(value)) / \
                                                   isthmus_pi);                                 \
  }
ISTHMUS_OVER_PI(acos)
ISTHMUS_OVER_PI(asin)
ISTHMUS_OVER_PI(atan)
#undef ISTHMUS_OVER_PI
template <class T, isthmus_arithmetic<T> = 0>
auto atan2pi(T y, T x) {
  return static_cast<decltype(std::atan2(y, x))>(
      std::atan2(static_cast<long double>(y), static_cast<long double>(x)) / isthmus_pi);
}
template <class T, isthmus_arithmetic<T> = 0>
T maxmag(T left, T right) {
  const auto one = std::abs(left);
  const auto other = std::abs(right);
  return one > other ? left : other > one ? right : std::fmax(left, right);
}
template <class T, isthmus_arithmetic<T> = 0>
T minmag(T left, T right) {
  const auto one = std::abs(left);
  const auto other = std::abs(right);
  return one < other ? left : other < one ? right : std::fmin(left, right);
}
template <class T, isthmus_arithmetic<T> = 0>
void sincos(T value, T* sine, T* cosine) {
  *sine = std::sin(value);
  *cosine = std::cos(value);
}
template <class T, isthmus_arithmetic<T> = 0>
bool isequal(T left, T right) {
  return left == right;
}
template <class T, isthmus_arithmetic<T> = 0>
bool isnotequal(T left, T right) {
  return left != right;
}
template <class T>
const T& max(const T& left, const T& right) {
  return left < right ? right : left;
}
template <class T>
const T& min(const T& left, const T& right) {
  return right < left ? right : left;
}

// The functions for half, ap_fixed and ap_int. Each type names its floating-point type, and
// converts results to its own bits.
template <class T>
using isthmus_plain = typename T::isthmus_plain;

#define ISTHMUS_UNARY(name)                                     \
  template <class T, class Plain = isthmus_plain<T>>            \
  Plain name(const T& value) {                                  \
    return static_cast<Plain>(hls::name(value.isthmus_real())); \
  }
#define ISTHMUS_BINARY(name)                                                         \
  template <class T, class Plain = isthmus_plain<T>>                                 \
  Plain name(const T& left, const T& right) {                                        \
    return static_cast<Plain>(hls::name(left.isthmus_real(), right.isthmus_real())); \
  }
#define ISTHMUS_ASKING(name, Answer)                             \
  template <class T, class = isthmus_plain<T>>                   \
  Answer name(const T& value) {                                  \
    return static_cast<Answer>(hls::name(value.isthmus_real())); \
  }
#define ISTHMUS_COMPARING(name)                                  \
  template <class T, class = isthmus_plain<T>>                   \
  bool name(const T& left, const T& right) {                     \
    return hls::name(left.isthmus_real(), right.isthmus_real()); \
  }
// Further names of a function for one type: sqrtf for float, half_sqrt for half.
#define ISTHMUS_NAMED(name) \
  inline half half_##name(half value) { return hls::name(value); }
#define ISTHMUS_NAMED_HERE(name)                                 \
  inline float name##f(float value) { return hls::name(value); } \
  ISTHMUS_NAMED(name)
#define ISTHMUS_NAMED_IN_C(name) \
  using ::name##f;               \
  ISTHMUS_NAMED(name)
#define ISTHMUS_FUNCTIONS_IN_C(each)                                                        \
  each(acos) each(acosh) each(asin) each(asinh) each(atan) each(atanh) each(cos) each(cosh) \
      each(sin) each(sinh) each(tan) each(tanh) each(cbrt) each(exp) each(exp2) each(expm1) \
          each(log) each(log10) each(log1p) each(log2) each(sqrt) each(ceil) each(floor)    \
              each(nearbyint) each(rint) each(round) each(trunc) each(erf) each(erfc) each(fabs)
#define ISTHMUS_FUNCTIONS_HERE(each) \
  each(recip) each(rsqrt) each(sinpi) each(cospi) each(tanpi) each(acospi) each(asinpi) each(atanpi)
ISTHMUS_FUNCTIONS_IN_C(ISTHMUS_UNARY)
ISTHMUS_FUNCTIONS_HERE(ISTHMUS_UNARY)
ISTHMUS_UNARY(abs)
ISTHMUS_UNARY(exp10)
ISTHMUS_FUNCTIONS_IN_C(ISTHMUS_NAMED_IN_C)
ISTHMUS_FUNCTIONS_HERE(ISTHMUS_NAMED_HERE)
ISTHMUS_BINARY(atan2)
ISTHMUS_BINARY(atan2pi)
ISTHMUS_BINARY(copysign)
ISTHMUS_BINARY(divide)
ISTHMUS_BINARY(fdim)
ISTHMUS_BINARY(fmax)
ISTHMUS_BINARY(fmin)
ISTHMUS_BINARY(fmod)
ISTHMUS_BINARY(hypot)
ISTHMUS_BINARY(maxmag)
ISTHMUS_BINARY(minmag)
ISTHMUS_BINARY(pow)
ISTHMUS_BINARY(remainder)
ISTHMUS_ASKING(ilogb, int)
ISTHMUS_ASKING(isfinite, bool)
ISTHMUS_ASKING(isinf, bool)
ISTHMUS_ASKING(isnan, bool)
ISTHMUS_ASKING(isnormal, bool)
ISTHMUS_ASKING(llrint, long long)
ISTHMUS_ASKING(llround, long long)
ISTHMUS_ASKING(lrint, long)
ISTHMUS_ASKING(lround, long)
ISTHMUS_ASKING(signbit, bool)
ISTHMUS_COMPARING(isequal)
ISTHMUS_COMPARING(isgreater)
ISTHMUS_COMPARING(isgreaterequal)
ISTHMUS_COMPARING(isless)
ISTHMUS_COMPARING(islessequal)
ISTHMUS_COMPARING(islessgreater)
ISTHMUS_COMPARING(isnotequal)
ISTHMUS_COMPARING(isunordered)
#undef ISTHMUS_UNARY
#undef ISTHMUS_BINARY
#undef ISTHMUS_ASKING
#undef ISTHMUS_COMPARING
#undef ISTHMUS_NAMED
#undef ISTHMUS_NAMED_HERE
#undef ISTHMUS_NAMED_IN_C
#undef ISTHMUS_FUNCTIONS_IN_C
#undef ISTHMUS_FUNCTIONS_HERE

template <class T, class Plain = isthmus_plain<T>>
Plain fma(const T& left, const T& right, const T& more) {
  return static_cast<Plain>(
      std::fma(left.isthmus_real(), right.isthmus_real(), more.isthmus_real()));
}
template <class T, class Plain = isthmus_plain<T>>
Plain ldexp(const T& value, int exponent) {
  return static_cast<Plain>(std::ldexp(value.isthmus_real(), exponent));
}
template <class T, class Plain = isthmus_plain<T>>
Plain scalbn(const T& value, int exponent) {
  return hls::ldexp(value, exponent);
}
template <class T, class Plain = isthmus_plain<T>>
Plain frexp(const T& value, int* exponent) {
  return static_cast<Plain>(std::frexp(value.isthmus_real(), exponent));
}
template <class T, class Plain = isthmus_plain<T>>
Plain modf(const T& value, T* whole) {
  auto integer = value.isthmus_real();
  const auto rest = std::modf(integer, &integer);
  *whole = static_cast<Plain>(integer);
  return static_cast<Plain>(rest);
}
template <class T, class Plain = isthmus_plain<T>>
void sincos(const T& value, T* sine, T* cosine) {
  *sine = hls::sin(value);
  *cosine = hls::cos(value);
}

/// Refuses half, ap_fixed and ap_int at compile time: with long double the next number would differ
/// from HLS's.
template <class T, class... Others, class = isthmus_plain<T>>
T nextafter(const T& value, const Others&... /*others*/) {
  static_assert(sizeof(T) == 0, "this hls_math.h has nextafter of float and double alone");
  return value;
}

}  // namespace hls

// Stands in for AMD's header of the name, where that is not there: the functions of C++ by the
// names of HLS. They round as this machine's library does; HLS's may differ in the last places.
#pragma once

#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace hls {

using std::abs, std::fabs, std::fmod, std::remainder, std::fma, std::fmax, std::fmin, std::fdim;
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cos,
    std::cosh, std::sin, std::sinh, std::tan, std::tanh;
using std::cbrt, std::exp, std::exp2, std::expm1, std::hypot, std::log, std::log10, std::log1p,
    std::log2, std::pow, std::sqrt;
using std::ceil, std::floor, std::llrint, std::llround, std::lrint, std::lround, std::nearbyint,
    std::rint, std::round, std::trunc;
using std::copysign, std::frexp, std::ilogb, std::ldexp, std::logb, std::modf, std::nextafter,
    std::scalbn;
using std::erf, std::erfc, std::lgamma, std::tgamma;
using std::isfinite, std::isinf, std::isnan, std::isnormal, std::signbit;

// Those of ap_fixed are not here: to its last bits they are HLS's own.
#define ISTHMUS_REFUSED(name)                                                                  \
  template <class T, class... Others, class = typename T::isthmus_fixed>                       \
  T name(const T& value, const Others&... /*others*/) {                                        \
    static_assert(sizeof(T) == 0,                                                              \
                  "this hls_math.h has no functions of ap_fixed: compute in float or double"); \
    return value;                                                                              \
  }
ISTHMUS_REFUSED(abs)
ISTHMUS_REFUSED(atan)
ISTHMUS_REFUSED(atan2)
ISTHMUS_REFUSED(cbrt)
ISTHMUS_REFUSED(ceil)
ISTHMUS_REFUSED(cos)
ISTHMUS_REFUSED(exp)
ISTHMUS_REFUSED(floor)
ISTHMUS_REFUSED(log)
ISTHMUS_REFUSED(log10)
ISTHMUS_REFUSED(log2)
ISTHMUS_REFUSED(pow)
ISTHMUS_REFUSED(recip)
ISTHMUS_REFUSED(round)
ISTHMUS_REFUSED(rsqrt)
ISTHMUS_REFUSED(sin)
ISTHMUS_REFUSED(sqrt)
ISTHMUS_REFUSED(tan)
#undef ISTHMUS_REFUSED

template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
T recip(T value) {
  return T(1) / value;
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
T rsqrt(T value) {
  return T(1) / std::sqrt(value);
}
template <class T>
const T& max(const T& left, const T& right) {
  return left < right ? right : left;
}
template <class T>
const T& min(const T& left, const T& right) {
  return right < left ? right : left;
}

}  // namespace hls

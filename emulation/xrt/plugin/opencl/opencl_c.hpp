// The functions of OpenCL C, in C++. `isthmus card kernel build` includes this header before a
// kernel's source.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#include "vectors.hpp"
#include "work_items.hpp"

namespace isthmus::opencl {

using std::printf;

inline constexpr float M_E_F = 2.71828182845904523536F;
inline constexpr float M_LOG2E_F = 1.44269504088896340736F;
inline constexpr float M_LOG10E_F = 0.43429448190325182765F;
inline constexpr float M_LN2_F = 0.69314718055994530942F;
inline constexpr float M_LN10_F = 2.30258509299404568402F;
inline constexpr float M_PI_F = 3.14159265358979323846F;
inline constexpr float M_PI_2_F = 1.57079632679489661923F;
inline constexpr float M_PI_4_F = 0.78539816339744830962F;
inline constexpr float M_1_PI_F = 0.31830988618379067154F;
inline constexpr float M_2_PI_F = 0.63661977236758134308F;
inline constexpr float M_2_SQRTPI_F = 1.12837916709551257390F;
inline constexpr float M_SQRT2_F = 1.41421356237309504880F;
inline constexpr float M_SQRT1_2_F = 0.70710678118654752440F;

template <class T>
using Unsigned = std::make_unsigned_t<T>;
/// The integer type of twice T's width.
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
template <class T>
inline constexpr int bits = 8 * sizeof(T);
template <class T>
T saturated(__int128 value) {
  using Limits = std::numeric_limits<T>;
  return value < Limits::min() ? Limits::min() : value > Limits::max() ? Limits::max() : T(value);
}

// Functions of one element. All arguments have the same type, except in functions like pow.
#define ISTHMUS_1(name, ...)                             \
  template <class A>                                     \
  inline auto name(const A& a_) {                        \
    return each([](auto a) { return __VA_ARGS__; }, a_); \
  }
#define ISTHMUS_2(name, ...)                                        \
  template <class A, class B>                                       \
  inline auto name(const A& a_, const B& b_) {                      \
    return each(                                                    \
        [](auto a0, auto b0) {                                      \
          using T = std::common_type_t<decltype(a0), decltype(b0)>; \
          const T a = a0, b = b0;                                   \
          return __VA_ARGS__;                                       \
        },                                                          \
        a_, b_);                                                    \
  }
#define ISTHMUS_3(name, ...)                                                      \
  template <class A, class B, class C>                                            \
  inline auto name(const A& a_, const B& b_, const C& c_) {                       \
    return each(                                                                  \
        [](auto a0, auto b0, auto c0) {                                           \
          using T = std::common_type_t<decltype(a0), decltype(b0), decltype(c0)>; \
          const T a = a0, b = b0, c = c0;                                         \
          return __VA_ARGS__;                                                     \
        },                                                                        \
        a_, b_, c_);                                                              \
  }
#define ISTHMUS_STANDARD_1(name) ISTHMUS_1(name, std::name(a))
#define ISTHMUS_STANDARD_2(name) ISTHMUS_2(name, std::name(a, b))
ISTHMUS_STANDARD_1(acos)
ISTHMUS_STANDARD_1(acosh)
ISTHMUS_STANDARD_1(asin)
ISTHMUS_STANDARD_1(asinh)
ISTHMUS_STANDARD_1(atan)
ISTHMUS_STANDARD_1(atanh)
ISTHMUS_STANDARD_1(cbrt)
ISTHMUS_STANDARD_1(ceil)
ISTHMUS_STANDARD_1(cos)
ISTHMUS_STANDARD_1(cosh)
ISTHMUS_STANDARD_1(erf)
ISTHMUS_STANDARD_1(erfc)
ISTHMUS_STANDARD_1(exp)
ISTHMUS_STANDARD_1(exp2)
ISTHMUS_STANDARD_1(expm1)
ISTHMUS_STANDARD_1(fabs)
ISTHMUS_STANDARD_1(floor)
ISTHMUS_STANDARD_1(lgamma)
ISTHMUS_STANDARD_1(log)
ISTHMUS_STANDARD_1(log10)
ISTHMUS_STANDARD_1(log1p)
ISTHMUS_STANDARD_1(log2)
ISTHMUS_STANDARD_1(logb)
ISTHMUS_STANDARD_1(rint)
ISTHMUS_STANDARD_1(round)
ISTHMUS_STANDARD_1(sin)
ISTHMUS_STANDARD_1(sinh)
ISTHMUS_STANDARD_1(sqrt)
ISTHMUS_STANDARD_1(tan)
ISTHMUS_STANDARD_1(tanh)
ISTHMUS_STANDARD_1(tgamma)
ISTHMUS_STANDARD_1(trunc)
ISTHMUS_STANDARD_1(ilogb)
ISTHMUS_STANDARD_2(atan2)
ISTHMUS_STANDARD_2(copysign)
ISTHMUS_STANDARD_2(fdim)
ISTHMUS_STANDARD_2(fmax)
ISTHMUS_STANDARD_2(fmin)
ISTHMUS_STANDARD_2(fmod)
ISTHMUS_STANDARD_2(hypot)
ISTHMUS_STANDARD_2(nextafter)
ISTHMUS_STANDARD_2(pow)
ISTHMUS_STANDARD_2(remainder)
ISTHMUS_2(powr, std::pow(a, b))
ISTHMUS_2(divide, a / b)
ISTHMUS_1(recip, decltype(a)(1) / a)
ISTHMUS_1(exp10, std::pow(decltype(a)(10), a))
ISTHMUS_1(rsqrt, decltype(a)(1) / std::sqrt(a))
ISTHMUS_1(sign, a > 0 ? decltype(a)(1) : a < 0 ? decltype(a)(-1) : a)
ISTHMUS_1(degrees, a* decltype(a)(57.29577951308232087680))
ISTHMUS_1(radians, a* decltype(a)(0.01745329251994329577))
ISTHMUS_2(step, b < a ? T(0) : T(1))
ISTHMUS_3(fma, std::fma(a, b, c))
ISTHMUS_3(mad, a* b + c)
ISTHMUS_3(mix, a + (b - a) * c)
template <class A, class B>
inline auto pown(const A& a_, const B& b_) {
  return each([](auto a, int b) { return decltype(a)(std::pow(a, b)); }, a_, b_);
}
template <class A, class B>
inline auto ldexp(const A& a_, const B& b_) {
  return each([](auto a, int b) { return std::ldexp(a, b); }, a_, b_);
}
template <class A>
inline A sincos(const A& a, A* cosine) {
  *cosine = cos(a);
  return sin(a);
}
template <class A>
inline A modf(const A& a, A* whole) {
  *whole = trunc(a);
  return a - *whole;
}
template <class A>
inline A fract(const A& a, A* whole) {
  *whole = floor(a);
  return a - *whole;
}

ISTHMUS_2(min, b < a ? b : a)
ISTHMUS_2(max, a < b ? b : a)
ISTHMUS_3(clamp, a < b ? b : c < a ? c : a)
ISTHMUS_1(abs, a < 0 ? Unsigned<decltype(a)>(-Unsigned<decltype(a)>(a)) : Unsigned<decltype(a)>(a))
ISTHMUS_2(abs_diff, a < b ? Unsigned<T>(Unsigned<T>(b) - a) : Unsigned<T>(Unsigned<T>(a) - b))
ISTHMUS_2(add_sat, saturated<T>(static_cast<__int128>(a) + b))
ISTHMUS_2(sub_sat, saturated<T>(static_cast<__int128>(a) - b))
ISTHMUS_2(hadd, T((Wide<T>(a) + b) >> 1))
ISTHMUS_2(rhadd, T((Wide<T>(a) + b + 1) >> 1))
ISTHMUS_2(mul24, a* b)
ISTHMUS_3(mad24, a* b + c)
ISTHMUS_2(mul_hi, T((Wide<T>(a) * b) >> bits<T>))
ISTHMUS_3(mad_hi, T(((Wide<T>(a) * b) >> bits<T>)+c))
ISTHMUS_2(rotate, T(Unsigned<T>(a) << (b & (bits<T> - 1)) |
                    Unsigned<T>(a) >> ((bits<T> - (b & (bits<T> - 1))) & (bits<T> - 1))))
ISTHMUS_1(clz, decltype(a)(a == 0 ? bits<decltype(a)>
                                  : __builtin_clzll(Unsigned<decltype(a)>(a)) -
                                        (64 - bits<decltype(a)>)))
ISTHMUS_1(popcount, decltype(a)(__builtin_popcountll(Unsigned<decltype(a)>(a))))
#undef ISTHMUS_STANDARD_1
#undef ISTHMUS_STANDARD_2
#undef ISTHMUS_1
#undef ISTHMUS_2
#undef ISTHMUS_3

// Tests return 0 or 1 for scalars, and 0 or -1 in each element for vectors.
#define ISTHMUS_TEST(name, op)               \
  template <class A, class B>                \
  inline auto name(const A& a, const B& b) { \
    if constexpr (Shape<A>::length == 1) {   \
      return static_cast<int>(a op b);       \
    } else {                                 \
      return a op b;                         \
    }                                        \
  }
ISTHMUS_TEST(isequal, ==)
ISTHMUS_TEST(isnotequal, !=)
ISTHMUS_TEST(isgreater, >)
ISTHMUS_TEST(isgreaterequal, >=)
ISTHMUS_TEST(isless, <)
ISTHMUS_TEST(islessequal, <=)
#undef ISTHMUS_TEST
template <class A>
inline auto isnan(const A& a) {
  return isnotequal(a, a);
}
template <class A>
inline auto isinf(const A& a) {
  return isequal(fabs(a), A(INFINITY));
}
template <class A>
inline auto isfinite(const A& a) {
  return isless(fabs(a), A(INFINITY));
}

/// any: whether an element's highest bit is set; all: whether all elements' highest bits are.
template <class A>
inline int any(const A& a) {
  bool found = false;
  for (int n = 0; n < Shape<A>::length; ++n) {
    found |= Shape<A>::at(a, n) < 0;
  }
  return found ? 1 : 0;
}
template <class A>
inline int all(const A& a) {
  bool found = true;
  for (int n = 0; n < Shape<A>::length; ++n) {
    found &= Shape<A>::at(a, n) < 0;
  }
  return found ? 1 : 0;
}
/// Returns b if c is not 0, else a. For vectors the highest bit of each element of c decides.
template <class A, class B, class C>
inline auto select(const A& a_, const B& b_, const C& c_) {
  return each(
      [](auto a, auto b, auto c) {
        using T = decltype(a);
        if constexpr (Shape<C>::length == 1) {
          return c != 0 ? T(b) : a;
        } else {
          return std::make_signed_t<decltype(c)>(c) < 0 ? T(b) : a;
        }
      },
      a_, b_, c_);
}

template <class A, class B>
inline auto dot(const A& a, const B& b) {
  typename Shape<A>::Element sum = 0;
  for (int n = 0; n < Shape<A>::length; ++n) {
    sum += Shape<A>::at(a, n) * Shape<B>::at(b, n);
  }
  return sum;
}
template <class A>
inline auto length(const A& a) {
  return sqrt(dot(a, a));
}
template <class A, class B>
inline auto distance(const A& a, const B& b) {
  return length(a - b);
}
template <class A>
inline auto normalize(const A& a) {
  return a / length(a);
}
template <class T, int n>
inline Vec<T, n> cross(const Vec<T, n>& a, const Vec<T, n>& b) {
  Vec<T, n> made(0);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3;
    const int k = (i + 2) % 3;
    made.element[i] = a.element[j] * b.element[k] - a.element[k] * b.element[j];
  }
  return made;
}

// convert_T, as_T, vloadN and vstoreN under the names that `isthmus card kernel build` gives them.

/// `how` is the last letter of _rte, _rtz, _rtp or _rtn; without it the value rounds towards zero.
template <class To, bool saturates, char how, class From>
inline To convert(const From& from) {
  using T = typename Shape<To>::Element;
  return each(
      [](auto value) {
        if constexpr (std::is_floating_point_v<decltype(value)> && std::is_integral_v<T>) {
          const auto whole = how == 'e'   ? std::rint(value)
                             : how == 'p' ? std::ceil(value)
                             : how == 'n' ? std::floor(value)
                                          : std::trunc(value);
          if constexpr (saturates) {
            using Limits = std::numeric_limits<T>;
            return whole != whole                                     ? T(0)
                   : whole <= static_cast<long double>(Limits::min()) ? Limits::min()
                   : whole >= static_cast<long double>(Limits::max()) ? Limits::max()
                                                                      : static_cast<T>(whole);
          } else {
            return static_cast<T>(whole);
          }
        } else if constexpr (saturates && std::is_integral_v<T>) {
          return saturated<T>(value);
        } else {
          return static_cast<T>(value);
        }
      },
      from);
}
template <class To, class From>
inline To as(const From& from) {
  const typename OfLength<typename Shape<From>::Element, Shape<From>::length>::Type given = from;
  static_assert(sizeof(To) == sizeof(given), "as_T gives the same bits another type");
  To made;
  std::memcpy(&made, &given, sizeof(made));
  return made;
}
template <int n, class T>
inline Vec<T, n> vload(std::size_t offset, const T* from) {
  Vec<T, n> made;
  for (int i = 0; i < n; ++i) {
    made.element[i] = from[offset * n + i];
  }
  return made;
}
template <int n, class V, class T>
inline void vstore(const V& value, std::size_t offset, T* to) {
  for (int i = 0; i < n; ++i) {
    to[offset * n + i] = Shape<V>::at(value, i);
  }
}

// No operation needs to be atomic, because one work-item runs at a time.
#define ISTHMUS_ATOMIC(name, ...)       \
  template <class T, class B>           \
  inline T name(volatile T* at, B b_) { \
    const T a = *at;                    \
    const T b = static_cast<T>(b_);     \
    *at = __VA_ARGS__;                  \
    return a;                           \
  }
ISTHMUS_ATOMIC(atomic_add, a + b)
ISTHMUS_ATOMIC(atomic_sub, a - b)
ISTHMUS_ATOMIC(atomic_xchg, b)
ISTHMUS_ATOMIC(atomic_min, b < a ? b : a)
ISTHMUS_ATOMIC(atomic_max, a < b ? b : a)
ISTHMUS_ATOMIC(atomic_and, a& b)
ISTHMUS_ATOMIC(atomic_or, a | b)
ISTHMUS_ATOMIC(atomic_xor, a ^ b)
#undef ISTHMUS_ATOMIC
template <class T>
inline T atomic_inc(volatile T* at) {
  return atomic_add(at, 1);
}
template <class T>
inline T atomic_dec(volatile T* at) {
  return atomic_sub(at, 1);
}
template <class T, class B, class C>
inline T atomic_cmpxchg(volatile T* at, B expected, C value) {
  const T before = *at;
  *at = before == static_cast<T>(expected) ? static_cast<T>(value) : before;
  return before;
}

}  // namespace isthmus::opencl

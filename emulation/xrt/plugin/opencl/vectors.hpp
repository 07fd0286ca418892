// The vectors of OpenCL C. ISTHMUS_PARTS_N lists those parts of N-element vectors that the kernel's
// source names (v.s0, v.zwxy, v.hi), so that only these are compiled.
#pragma once

#include <cstddef>
#include <type_traits>

#define ISTHMUS_INLINE __attribute__((always_inline))

namespace isthmus::opencl {

template <class T, int n>
struct Vec;

constexpr int lanes(int n) { return n == 3 ? 4 : n; }

template <class T, int n>
struct Native {
  typedef T Type __attribute__((vector_size(sizeof(T) * lanes(n))));
};

/// Several elements of a vector, such as v.zwxy, at the vector's own address. `Whole` is the type
/// of the vector of `n` elements, `Taken` the vector type of the selected elements.
template <class Whole, class Taken, class T, int n, int... from>
struct Part {
  T element[lanes(n)];

  Part() = default;
  Part(const Part&) = default;
  ISTHMUS_INLINE operator Taken() const { return Taken(element[from]...); }
  ISTHMUS_INLINE Part& operator=(const Part& other) { return *this = Taken(other); }
  ISTHMUS_INLINE Part& operator=(const Taken& taken) {
    int at = 0;
    ((element[from] = taken.element[at++]), ...);
    return *this;
  }
#define ISTHMUS_ASSIGNMENT(op) \
  ISTHMUS_INLINE Part& operator op## = (const Taken& by) { return *this = Taken(*this) op by; }
  ISTHMUS_ASSIGNMENT(+)
  ISTHMUS_ASSIGNMENT(-)
  ISTHMUS_ASSIGNMENT(*)
  ISTHMUS_ASSIGNMENT(/)
  ISTHMUS_ASSIGNMENT(%)
  ISTHMUS_ASSIGNMENT(&)
  ISTHMUS_ASSIGNMENT(|)
  ISTHMUS_ASSIGNMENT(^)
  ISTHMUS_ASSIGNMENT(<<)
  ISTHMUS_ASSIGNMENT(>>)
#undef ISTHMUS_ASSIGNMENT
};

template <class T, int n>
struct Elements;
#define ISTHMUS_FIRST(name) T name;
#define ISTHMUS_ELEMENT(name, at) \
  struct {                        \
    T before_##name[at];          \
    T name;                       \
  };
#define ISTHMUS_PART(name, count, whole, ...) \
  Part<Vec<T, whole>, Vec<T, count>, T, whole, __VA_ARGS__> name;
#define ISTHMUS_ELEMENTS(n, parts)        \
  template <class T>                      \
  struct Elements<T, n> {                 \
    union {                               \
      typename Native<T, n>::Type native; \
      T element[lanes(n)];                \
      parts                               \
    };                                    \
  };
ISTHMUS_ELEMENTS(2, ISTHMUS_PARTS_2)
ISTHMUS_ELEMENTS(3, ISTHMUS_PARTS_3)
ISTHMUS_ELEMENTS(4, ISTHMUS_PARTS_4)
ISTHMUS_ELEMENTS(8, ISTHMUS_PARTS_8)
ISTHMUS_ELEMENTS(16, ISTHMUS_PARTS_16)
#undef ISTHMUS_FIRST
#undef ISTHMUS_ELEMENT
#undef ISTHMUS_PART
#undef ISTHMUS_ELEMENTS

/// Element type and number of elements of a scalar, a vector or a part of a vector.
template <class T>
struct Shape {
  using Element = T;
  static constexpr int length = 1;
  static T at(const T& value, int /*n*/) { return value; }
};
template <class T, int n>
struct Shape<Vec<T, n>> {
  using Element = T;
  static constexpr int length = n;
  static T at(const Vec<T, n>& value, int index) { return value.element[index]; }
};
template <class Whole, class Taken, class T, int n, int... from>
struct Shape<Part<Whole, Taken, T, n, from...>> {
  using Element = T;
  static constexpr int length = sizeof...(from);
  static T at(const Taken& value, int index) { return value.element[index]; }
};

template <std::size_t bytes>
using Signed = std::conditional_t<
    bytes == 1, char,
    std::conditional_t<bytes == 2, short, std::conditional_t<bytes == 4, int, long>>>;

template <class T, int n>
struct Vec : Elements<T, n> {
  using Type = typename Native<T, n>::Type;
  using Mask = Vec<Signed<sizeof(T)>, n>;
  using Elements<T, n>::element;
  using Elements<T, n>::native;

  Vec() = default;
  Vec(const Vec&) = default;
  template <class S, class = std::enable_if_t<std::is_arithmetic_v<S> || std::is_enum_v<S>>>
  ISTHMUS_INLINE Vec(S all) {
    for (T& one : element) {
      one = static_cast<T>(all);
    }
  }
  template <class First, class Second, class... More>
  ISTHMUS_INLINE Vec(const First& first, const Second& second, const More&... more) {
    static_assert(
        Shape<First>::length + Shape<Second>::length + (Shape<More>::length + ... + 0) == n,
        "a vector is given as many elements as it has");
    int at = 0;
    fill(at, first);
    fill(at, second);
    (fill(at, more), ...);
  }
  ISTHMUS_INLINE Vec& operator=(const Vec& other) {
    native = other.native;
    return *this;
  }
  ISTHMUS_INLINE static Vec of(Type native) {
    Vec made;
    made.native = native;
    return made;
  }
  ISTHMUS_INLINE T& operator[](std::size_t at) { return element[at]; }
  ISTHMUS_INLINE const T& operator[](std::size_t at) const { return element[at]; }

#define ISTHMUS_OPERATOR(op)                                          \
  ISTHMUS_INLINE friend Vec operator op(const Vec& a, const Vec& b) { \
    return of(a.native op b.native);                                  \
  }                                                                   \
  ISTHMUS_INLINE Vec& operator op## = (const Vec& b) { return *this = *this op b; }
  ISTHMUS_OPERATOR(+)
  ISTHMUS_OPERATOR(-)
  ISTHMUS_OPERATOR(*)
  ISTHMUS_OPERATOR(&)
  ISTHMUS_OPERATOR(|)
  ISTHMUS_OPERATOR(^)
  ISTHMUS_OPERATOR(<<)
  ISTHMUS_OPERATOR(>>)
#undef ISTHMUS_OPERATOR
#define ISTHMUS_DIVISION(op)                                          \
  ISTHMUS_INLINE friend Vec operator op(const Vec& a, const Vec& b) { \
    return of(a.native op b.divisor());                               \
  }                                                                   \
  ISTHMUS_INLINE Vec& operator op## = (const Vec& b) { return *this = *this op b; }
  ISTHMUS_DIVISION(/)
  ISTHMUS_DIVISION(%)
#undef ISTHMUS_DIVISION
  // Comparisons return a vector with -1 for true and 0 for false in each element.
#define ISTHMUS_COMPARISON(op)                                         \
  ISTHMUS_INLINE friend Mask operator op(const Vec& a, const Vec& b) { \
    return Mask::of((typename Mask::Type)(a.native op b.native));      \
  }
  ISTHMUS_COMPARISON(==)
  ISTHMUS_COMPARISON(!=)
  ISTHMUS_COMPARISON(<)
  ISTHMUS_COMPARISON(>)
  ISTHMUS_COMPARISON(<=)
  ISTHMUS_COMPARISON(>=)
#undef ISTHMUS_COMPARISON
  ISTHMUS_INLINE friend Mask operator!(const Vec& a) { return a == Vec(0); }
  ISTHMUS_INLINE friend Mask operator&&(const Vec& a, const Vec& b) { return !!a & !!b; }
  ISTHMUS_INLINE friend Mask operator||(const Vec& a, const Vec& b) { return !!a | !!b; }
  ISTHMUS_INLINE friend Vec operator+(const Vec& a) { return a; }
  ISTHMUS_INLINE friend Vec operator-(const Vec& a) { return of(-a.native); }
  ISTHMUS_INLINE friend Vec operator~(const Vec& a) { return of(~a.native); }
  ISTHMUS_INLINE Vec& operator++() { return *this += Vec(1); }
  ISTHMUS_INLINE Vec& operator--() { return *this -= Vec(1); }
  ISTHMUS_INLINE Vec operator++(int) {
    const Vec before = *this;
    ++*this;
    return before;
  }
  ISTHMUS_INLINE Vec operator--(int) {
    const Vec before = *this;
    --*this;
    return before;
  }

 private:
  /// Returns the vector with 1 in place of each integer 0. In OpenCL C division by 0 is no error,
  /// and the fourth element of a vector of 3 has no value.
  ISTHMUS_INLINE Type divisor() const {
    if constexpr (std::is_integral_v<T>) {
      return native - (Type)(native == 0);
    } else {
      return native;
    }
  }
  template <class Given>
  ISTHMUS_INLINE void fill(int& at, const Given& given) {
    for (int index = 0; index < Shape<Given>::length; ++index) {
      element[at++] = static_cast<T>(Shape<Given>::at(given, index));
    }
  }
};

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

#define ISTHMUS_VECTORS(type)   \
  using type##2 = Vec<type, 2>; \
  using type##3 = Vec<type, 3>; \
  using type##4 = Vec<type, 4>; \
  using type##8 = Vec<type, 8>; \
  using type##16 = Vec<type, 16>;
ISTHMUS_VECTORS(char)
ISTHMUS_VECTORS(uchar)
ISTHMUS_VECTORS(short)
ISTHMUS_VECTORS(ushort)
ISTHMUS_VECTORS(int)
ISTHMUS_VECTORS(uint)
ISTHMUS_VECTORS(long)
ISTHMUS_VECTORS(ulong)
ISTHMUS_VECTORS(float)
ISTHMUS_VECTORS(double)
#undef ISTHMUS_VECTORS

/// The vector type of `n` elements; for 1 the scalar type.
template <class T, int n>
struct OfLength {
  using Type = Vec<T, n>;
};
template <class T>
struct OfLength<T, 1> {
  using Type = T;
};

/// Returns a vector of what `function` returns for each element of its arguments; a scalar argument
/// is used with every element.
template <class Function, class... A>
ISTHMUS_INLINE inline auto each(const Function& function, const A&... a) {
  constexpr int length = [] {
    int longest = 1;
    ((longest = Shape<A>::length > longest ? Shape<A>::length : longest), ...);
    return longest;
  }();
  static_assert(((Shape<A>::length == 1 || Shape<A>::length == length) && ...),
                "vectors of two lengths");
  if constexpr (length == 1) {
    return function(a...);
  } else {
    // A scalar beside a vector becomes an element of the vector's type.
    using Element = std::common_type_t<
        std::conditional_t<Shape<A>::length == 1, bool, typename Shape<A>::Element>...>;
    Vec<decltype(function(static_cast<std::conditional_t<Shape<A>::length == 1, Element,
                                                         typename Shape<A>::Element>>(0)...)),
        length>
        made;
    for (int n = 0; n < length; ++n) {
      made.element[n] =
          function(static_cast<
                   std::conditional_t<Shape<A>::length == 1, Element, typename Shape<A>::Element>>(
              Shape<A>::at(a, n))...);
    }
    return made;
  }
}

}  // namespace isthmus::opencl

// Replaces AMD's header of this name, if that is absent: vectors, whose operators
// work on each element.
#pragma once

#include "isthmus_standard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

namespace hls {

/// A vector, as large as its values and aligned to the greatest power of two that divides its size.
template <class T, std::size_t count>
class alignas((sizeof(T) * count) & -(sizeof(T) * count)) vector {
 public:
  using value_type = T;

  vector() = default;
  /// Sets all elements to `value`.
  vector(const T& value) {
    for (T& one : values_) {
      one = value;
    }
  }
  vector(const std::array<T, count>& values) { std::copy(values.begin(), values.end(), values_); }
  /// Throws std::invalid_argument unless there are `count` values.
  vector(std::initializer_list<T> values) {
    if (values.size() != count) {
      throw std::invalid_argument("hls::vector: as many values as it has are given, or one");
    }
    std::size_t at = 0;
    for (const T& one : values) {
      values_[at++] = one;
    }
  }

  static constexpr std::size_t size() { return count; }
  T& operator[](std::size_t at) { return values_[at]; }
  const T& operator[](std::size_t at) const { return values_[at]; }
  T* begin() { return values_; }
  T* end() { return values_ + count; }
  const T* begin() const { return values_; }
  const T* end() const { return values_ + count; }

  /// Returns a vector of what `action` returns for each element.
  template <class Action>
  vector isthmus_each(const Action& action) const {
    vector made;
    for (std::size_t at = 0; at < count; ++at) {
      made[at] = action(values_[at], at);
    }
    return made;
  }

  vector& operator++() { return *this = *this + vector(T(1)); }
  vector& operator--() { return *this = *this - vector(T(1)); }
  vector operator++(int) {
    const vector before = *this;
    ++*this;
    return before;
  }
  vector operator--(int) {
    const vector before = *this;
    --*this;
    return before;
  }

#define ISTHMUS_OPERATION(op)                                                                 \
  friend vector operator op(const vector& left, const vector& right) {                        \
    return left.isthmus_each(                                                                 \
        [&right](const T& one, std::size_t at) { return static_cast<T>(one op right[at]); }); \
  }                                                                                           \
  vector& operator op## = (const vector& other) { return *this = *this op other; }
  ISTHMUS_OPERATION(+)
  ISTHMUS_OPERATION(-)
  ISTHMUS_OPERATION(*)
  ISTHMUS_OPERATION(/)
  ISTHMUS_OPERATION(%)
  ISTHMUS_OPERATION(&)
  ISTHMUS_OPERATION(|)
  ISTHMUS_OPERATION(^)
  ISTHMUS_OPERATION(<<)
  ISTHMUS_OPERATION(>>)
#undef ISTHMUS_OPERATION

  // Vectors compare by the first elements that differ.
  friend bool operator==(const vector& left, const vector& right) {
    return std::equal(left.begin(), left.end(), right.begin());
  }
  friend bool operator<(const vector& left, const vector& right) {
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  }
  friend bool operator!=(const vector& left, const vector& right) { return !(left == right); }
  friend bool operator>(const vector& left, const vector& right) { return right < left; }
  friend bool operator<=(const vector& left, const vector& right) { return !(right < left); }
  friend bool operator>=(const vector& left, const vector& right) { return !(left < right); }

#define ISTHMUS_REDUCTION(name, op)                                                      \
  [[nodiscard]] T reduce_##name() const {                                                \
    T all = values_[0];                                                                  \
    for (std::size_t at = 1; at < count; ++at) all = static_cast<T>(all op values_[at]); \
    return all;                                                                          \
  }
  ISTHMUS_REDUCTION(add, +)
  ISTHMUS_REDUCTION(mult, *)
  ISTHMUS_REDUCTION(and, &)
  ISTHMUS_REDUCTION(or, |)
  ISTHMUS_REDUCTION(xor, ^)
#undef ISTHMUS_REDUCTION

 private:
  T values_[count];
};

}  // namespace hls

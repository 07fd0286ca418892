// Replaces AMD's header of this name, if that is absent: a shift register.
#pragma once

#include "isthmus_standard.h"

#include <cstddef>

template <class T, unsigned depth = 32>
class ap_shift_reg {
 public:
  ap_shift_reg() = default;
  explicit ap_shift_reg(const char* /*name*/) {}

  /// Returns the value at `at`, then shifts `value` in at 0 if `enable`.
  T shift(const T& value, unsigned at = depth - 1, bool enable = true) {
    const T found = values_[at];
    if (enable) {
      for (unsigned n = depth - 1; n > 0; --n) {
        values_[n] = values_[n - 1];
      }
      values_[0] = value;
    }
    return found;
  }
  [[nodiscard]] T read(unsigned at = depth - 1) const { return values_[at]; }

 private:
  T values_[depth] = {};
};

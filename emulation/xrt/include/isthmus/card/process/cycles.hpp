// Formulas in an xclbin for the cycles of a kernel's run, computed from its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace isthmus::card::process {

struct ArgumentPlace;

/// A formula in reverse Polish notation: "s1 4 * 120 +" is four times argument 1, plus 120.
///
/// A word is one of:
/// - a decimal number
/// - sN or uN: argument N as a signed or unsigned integer
/// - + - * / // % min max, which take two numbers
/// - neg, which takes one number
///
/// As in Python, // rounds down and % has the sign of its right operand.
/// isthmus_emulation/xclbin/cycles.py writes the formula.
class Formula {
 public:
  /// Parses a formula; throws DescriptionError for any other text.
  static Formula parse(const std::string& text);

  /// Throws DescriptionError if the formula uses an argument that is not an integer.
  void check(const std::vector<ArgumentPlace>& arguments) const;
  /// Returns the formula's value in cycles, rounded up. Throws std::domain_error, with the value in
  /// its message, if that is no number of cycles.
  [[nodiscard]] std::int64_t of(std::span<const std::byte> registers,
                                const std::vector<ArgumentPlace>& arguments) const;
  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  enum class Kind : std::uint8_t {
    number,
    signed_argument,
    unsigned_argument,
    negate,
    add,
    subtract,
    multiply,
    divide,
    divide_down,
    remainder,
    least,
    most
  };
  struct Step {
    Kind kind = Kind::number;
    double number = 0;
    std::size_t argument = 0;
  };

  static Step step(const std::string& word);
  static double combined(Kind kind, double left, double right);

  std::vector<Step> steps_;
};

}  // namespace isthmus::card::process

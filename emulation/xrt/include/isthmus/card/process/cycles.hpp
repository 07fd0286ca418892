// How many cycles a kernel computes, as its xclbin says: a formula over the values it is given.
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
/// Words are decimal numbers; sN and uN, argument N as a signed or unsigned integer; + - * / // %
/// min max, which take two numbers, and neg, which takes one. // rounds down, and % has the sign of
/// what it divides by, as in Python, whose side writes it (isthmus/xclbin/cycles.py).
class Formula {
 public:
  /// Throws DescriptionError for a text that is none.
  static Formula parse(const std::string& text);

  /// Throws DescriptionError where it uses what is no integer in these registers.
  void check(const std::vector<ArgumentPlace>& arguments) const;
  /// The whole cycles that it comes to, rounded up. Throws std::domain_error, whose message says
  /// what comes out, where that is no count.
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

#include "isthmus/card/process/cycles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "isthmus/card/process/description.hpp"

namespace isthmus::card::process {
namespace {

/// Most words of a formula; the formulas that Isthmus writes have at most 500 letters.
constexpr std::size_t most_words = 1000;
/// Most cycles of a run, 30 years at 1 GHz: sums of larger numbers may not fit 64 bits.
constexpr double most_cycles = 1e18;

[[noreturn]] void refuse(const std::string& text) {
  throw DescriptionError("what the xclbin says of a kernel's cycles is damaged: '" + text + "'");
}

bool is_integer(const ArgumentPlace& place) {
  return !place.buffer &&
         (place.bytes == 1 || place.bytes == 2 || place.bytes == 4 || place.bytes == 8);
}

double value_of(const ArgumentPlace& place, std::span<const std::byte> registers, bool is_signed) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, registers.data() + place.offset, static_cast<std::size_t>(place.bytes));
  if (!is_signed) {
    return static_cast<double>(bits);
  }
  const std::uint64_t unused = 64 - 8 * place.bytes;
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

Formula::Step Formula::step(const std::string& word) {
  constexpr std::array<std::pair<std::string_view, Kind>, 9> operations = {{
      {"neg", Kind::negate},
      {"+", Kind::add},
      {"-", Kind::subtract},
      {"*", Kind::multiply},
      {"/", Kind::divide},
      {"//", Kind::divide_down},
      {"%", Kind::remainder},
      {"min", Kind::least},
      {"max", Kind::most},
  }};
  const auto* const known =
      std::ranges::find(operations, word, &std::pair<std::string_view, Kind>::first);
  if (known != operations.end()) {
    return {.kind = known->second};
  }
  const bool is_argument = word.starts_with('s') || word.starts_with('u');
  std::istringstream rest(word.substr(is_argument ? 1 : 0));
  Step found;
  if (is_argument) {
    found.kind = word.starts_with('s') ? Kind::signed_argument : Kind::unsigned_argument;
    rest >> found.argument;
  } else {
    rest >> found.number;
  }
  if (rest.fail() || rest.peek() != std::istringstream::traits_type::eof()) {
    refuse(word);
  }
  return found;
}

Formula Formula::parse(const std::string& text) {
  Formula found;
  std::istringstream words(text);
  std::size_t depth = 0;
  for (std::string word; words >> word;) {
    const Step next = step(word);
    std::size_t takes = 2;
    if (next.kind < Kind::negate) {
      takes = 0;
    } else if (next.kind == Kind::negate) {
      takes = 1;
    }
    if (depth < takes || found.steps_.size() >= most_words) {
      refuse(text);
    }
    depth = depth - takes + 1;
    found.steps_.push_back(next);
  }
  if (depth != 1) {
    refuse(text);
  }
  return found;
}

void Formula::check(const std::vector<ArgumentPlace>& arguments) const {
  for (const Step& step : steps_) {
    const bool is_argument =
        step.kind == Kind::signed_argument || step.kind == Kind::unsigned_argument;
    if (is_argument &&
        (step.argument >= arguments.size() || !is_integer(arguments[step.argument]))) {
      refuse("argument " + std::to_string(step.argument));
    }
  }
}

double Formula::combined(Kind kind, double left, double right) {
  switch (kind) {
    case Kind::add:
      return left + right;
    case Kind::subtract:
      return left - right;
    case Kind::multiply:
      return left * right;
    case Kind::least:
      return std::min(left, right);
    case Kind::most:
      return std::max(left, right);
    default:
      break;
  }
  if (right == 0) {
    throw std::domain_error("a division of " + text_of(left) + " by 0");
  }
  if (kind == Kind::divide) {
    return left / right;
  }
  const double remainder = std::fmod(left, right);
  const bool goes_up = remainder != 0 && (remainder < 0) != (right < 0);
  if (kind == Kind::remainder) {
    return goes_up ? remainder + right : remainder;
  }
  return std::round((left - remainder) / right) - (goes_up ? 1 : 0);
}

std::int64_t Formula::of(std::span<const std::byte> registers,
                         const std::vector<ArgumentPlace>& arguments) const {
  std::vector<double> stack;
  const auto take = [&stack] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::number:
        stack.push_back(step.number);
        break;
      case Kind::signed_argument:
      case Kind::unsigned_argument:
        stack.push_back(
            value_of(arguments[step.argument], registers, step.kind == Kind::signed_argument));
        break;
      case Kind::negate:
        stack.push_back(-take());
        break;
      default: {
        const double right = take();
        const double left = take();
        stack.push_back(combined(step.kind, left, right));
      }
    }
  }
  const double cycles = std::ceil(take());
  if (std::isnan(cycles) || cycles < 0 || cycles > most_cycles) {
    throw std::domain_error(text_of(cycles) + " cycles");
  }
  return static_cast<std::int64_t>(cycles);
}

}  // namespace isthmus::card::process

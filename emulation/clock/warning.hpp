// Warns the user of a mistake in the program's calls.
#pragma once

#include <span>

namespace isthmus::card::clock {

/// Most bytes of a warning, with the zero at its end.
inline constexpr int warning_bytes = 1024;

/// Prints a warning, a text that ends with zero; with --fail-on-warning the warning ends the
/// program, and `card exec` prints it.
void warn_of_call(std::span<char> text);

}  // namespace isthmus::card::clock

// Reads the environment variables by which `card exec` configures a card.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace isthmus::card::process {

/// Returns a variable's value; empty if it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the parts between colons that are not empty.
inline std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ':');) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace isthmus::card::process

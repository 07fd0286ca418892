// What `card exec` gives a card in environment variables.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace isthmus::card::process {

/// Returns the value of a variable; empty where it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the parts of a list that colons separate, without empty ones.
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

// The text of messages about arguments of a kernel that the program never set.
#pragma once

#include <string>
#include <vector>

namespace isthmus::card {

/// Returns a text like "argument 1 (in2) was never set, or is null". `arguments` has texts like "0
/// (in1)" for all arguments from which the wrong address may come.
inline std::string unset_arguments(const std::vector<std::string>& arguments) {
  std::string names;
  for (const std::string& argument : arguments) {
    if (!names.empty()) {
      names += &argument == &arguments.back() ? " and " : ", ";
    }
    names += argument;
  }
  return arguments.size() == 1 ? "argument " + names + " was never set, or is null"
                               : "arguments " + names + " were never set, or are null";
}

}  // namespace isthmus::card

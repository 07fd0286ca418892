// What is said of a kernel's arguments that were never set.
#pragma once

#include <string>
#include <vector>

namespace isthmus::card {

/// "argument 1 (in2) was never set, or is null"; several, as "0 (in1)", may have led to the same
/// address.
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

// Text of the message about arguments of a kernel that were never set.
#pragma once

#include <string>
#include <vector>

namespace isthmus::card {

/// Returns "argument 1 (in2) was never set, or is null". `arguments`: texts such as "0 (in1)", of
/// all arguments that may have led to the address.
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

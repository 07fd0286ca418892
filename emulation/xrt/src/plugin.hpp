// Loads users' kernels, which are shared objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::card::process {

/// Loads the first NAME.so in the folders; returns null if there is none. Throws KernelError if it
/// cannot be loaded or defines no kernel.
std::unique_ptr<KernelModel> load_plugin(const std::string& name,
                                         const std::vector<std::string>& folders);

}  // namespace isthmus::card::process

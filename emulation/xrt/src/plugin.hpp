// Kernels of the user, as shared objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::card::process {

/// Loads the first NAME.so in the folders; returns null without such a file. Throws KernelError if
/// it does not load or defines no kernel.
std::unique_ptr<KernelModel> load_plugin(const std::string& name,
                                         const std::vector<std::string>& folders);

}  // namespace isthmus::card::process

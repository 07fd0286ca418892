// Kernels that somebody brings as shared objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::card::process {

/// The first NAME.so in the folders; null where there is none. Throws KernelError for one that does
/// not load or defines no kernel.
std::unique_ptr<KernelModel> load_plugin(const std::string& name,
                                         const std::vector<std::string>& folders);

}  // namespace isthmus::card::process

// Processes of DATAFLOW regions, which run beside each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "phases.hpp"

namespace isthmus::card::plugin {

/// Of the phases of the run that goes on.
std::unique_ptr<Trail> begin_process(unsigned number);
void end_region();

/// Where regions of the run would have stood still on a board, for the user, without the kernel's
/// name.
std::vector<std::string> take_stops();

}  // namespace isthmus::card::plugin

// Processes of DATAFLOW regions, which run beside each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "phases.hpp"

namespace isthmus::card::plugin {

/// Begins a process, or ends a region, in the phases of the present run (`Phases`).
std::unique_ptr<Trail> begin_process(unsigned number);
void end_region();

/// Returns a text for each place at which a region of the run would stand still on a board, without
/// the kernel's name; clears the list.
std::vector<std::string> take_stops();

}  // namespace isthmus::card::plugin

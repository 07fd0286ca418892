// Processes of DATAFLOW regions, which take turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "phases.hpp"

namespace isthmus::card::plugin {

/// These begin a process, and end a region, in the current run's phases (`Phases`).
std::unique_ptr<Trail> begin_process(unsigned number);
void end_region();

/// Returns a text for each place at which a region of the run would have stood still on a board,
/// and forgets them. The texts lack the kernel's name.
std::vector<std::string> take_stops();

}  // namespace isthmus::card::plugin

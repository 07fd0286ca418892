// Reads what disturbs a thread: steal, context switches and page faults.
#pragma once

#include "isthmus/engine.hpp"

namespace isthmus {

/// Returns the totals so far: steal since boot, the other counts since this thread began.
Probe read_probe();

/// Returns what was counted between two readings.
Probe operator-(const Probe& later, const Probe& earlier);

}  // namespace isthmus

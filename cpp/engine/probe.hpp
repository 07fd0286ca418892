// Disturbances of a block by the machine and the kernel.
#pragma once

#include "isthmus/engine.hpp"

namespace isthmus {

/// Totals since boot (steal) and since the thread began (the rest).
Probe read_probe();

/// Difference between two readings.
Probe operator-(const Probe& later, const Probe& earlier);

}  // namespace isthmus

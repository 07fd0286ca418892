// Noise around a block: what the machine and the kernel did to the timing thread meanwhile.
#pragma once

#include "isthmus/engine.hpp"

namespace isthmus {

/// Totals since boot (steal) and since the thread began (the rest).
Probe read_probe();

/// What happened between two readings.
Probe operator-(const Probe& later, const Probe& earlier);

}  // namespace isthmus

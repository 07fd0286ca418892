// Replaces AMD's header of this name, if that is absent: accesses always have
// the order of the code.
#pragma once

#include "isthmus_standard.h"

namespace hls {

template <class... Accessed>
void fence(const Accessed&... /*accessed*/) {}

}  // namespace hls

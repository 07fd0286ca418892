// Stands in for AMD's header of the name, where that is not there: accesses are in the order of the
// code anyway.
#pragma once

#include "isthmus_standard.h"

namespace hls {

template <class... Accessed>
void fence(const Accessed&... /*accessed*/) {}

}  // namespace hls

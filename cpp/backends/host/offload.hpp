// The vector addition without a device: the time that an offload must beat.
#pragma once

#include <memory>

#include "isthmus/offload.hpp"

namespace isthmus {

OperationInfo host_offload();
std::unique_ptr<Offload> make_host_offload(const OperationSpec& spec);

}  // namespace isthmus

// The vector addition on the host, without a device: an offload is worth it only if it is faster.
#pragma once

#include <memory>

#include "isthmus/offload.hpp"

namespace isthmus {

OperationInfo host_offload();
std::unique_ptr<Offload> make_host_offload(const OperationSpec& spec);

}  // namespace isthmus

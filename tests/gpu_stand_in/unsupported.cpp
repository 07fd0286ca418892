// Every function of the driver that Isthmus knows; what the stand-in does not do is refused.
#include "api.hpp"

namespace isthmus::cuda {

#define REFUSED(name, symbol, parameters)                     \
  extern "C" __attribute__((weak)) Result symbol parameters { \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                \
  }
ISTHMUS_CUDA_FUNCTIONS(REFUSED)

}  // namespace isthmus::cuda

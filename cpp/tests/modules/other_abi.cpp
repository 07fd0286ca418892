// A backend built for an unknown version of the interface.
#include "isthmus/backend.hpp"

extern "C" __attribute__((visibility("default"))) int isthmus_backend_abi() {
  return isthmus::backend_abi + 1;
}
extern "C" __attribute__((visibility("default"))) isthmus::Backend* isthmus_backend() {
  return nullptr;
}

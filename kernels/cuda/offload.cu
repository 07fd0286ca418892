// Device code of an offload: adds two vectors. A separate module, which a process loads alone.
#include "device.cuh"

ENTRY vadd(const int* a, const int* b, int* c, unsigned size) {
  const unsigned i = my_block() * threads_of_block() + my_thread();
  if (i < size) c[i] = a[i] + b[i];
}

// Device code of an offload, a module of its own: what a process loads to add two vectors.

#ifndef __global__  // clang knows the attributes, the names come with the toolkit's headers
#define __global__ __attribute__((global))
#endif

extern "C" __global__ void vadd(const int* a, const int* b, int* c, unsigned size) {
  unsigned thread;
  unsigned threads;
  unsigned block;
  asm("mov.u32 %0, %%tid.x;" : "=r"(thread));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(threads));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  const unsigned i = block * threads + thread;
  if (i < size) c[i] = a[i] + b[i];
}

isthmus_add_backend(
  opencl
  SOURCES opencl.cpp operations.cpp kernel_operations.cpp binary_kernels.cpp reached.cpp objects.cpp api.cpp
  LIBRARIES isthmus_card_client)

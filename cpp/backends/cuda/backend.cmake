# Makes C++ strings of the kernels' PTX, which kernels/cuda/Makefile compiles from CUDA sources.
set(ISTHMUS_CUDA_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ISTHMUS_CUDA_KERNELS}/transfer.ptx
                                       ${ISTHMUS_CUDA_KERNELS}/offload.ptx ${ISTHMUS_CUDA_KERNELS}/exchange.ptx)
file(READ ${ISTHMUS_CUDA_KERNELS}/transfer.ptx ISTHMUS_CUDA_PTX)
file(READ ${ISTHMUS_CUDA_KERNELS}/offload.ptx ISTHMUS_CUDA_OFFLOAD_PTX)
file(READ ${ISTHMUS_CUDA_KERNELS}/exchange.ptx ISTHMUS_CUDA_EXCHANGE_PTX)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ptx.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/cuda/ptx.hpp @ONLY)
isthmus_add_backend(
  cuda
  NEEDS_DEVICE
  SOURCES cuda.cpp operations.cpp transfers.cpp kernels.cpp objects.cpp offload.cpp joint.cpp peer_exchange.cpp
          peer_kernels.cpp peer_copies.cpp peer_plan.cpp peers.cpp api.cpp nccl.cpp nccl_exchange.cpp nvml.cpp)
target_include_directories(isthmus_cuda PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/cuda)
set_property(GLOBAL APPEND PROPERTY ISTHMUS_TESTED_SOURCES ${CMAKE_CURRENT_LIST_DIR}/peer_plan.cpp
                                                           ${CMAKE_CURRENT_LIST_DIR}/nccl.cpp
                                                           ${CMAKE_CURRENT_LIST_DIR}/nvml.cpp)

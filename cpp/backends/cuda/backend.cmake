# The PTX becomes a string of the library; kernels/cuda/Makefile makes it from its sources.
set(ISTHMUS_CUDA_PTX_FILE ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda/transfer.ptx)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ISTHMUS_CUDA_PTX_FILE})
file(READ ${ISTHMUS_CUDA_PTX_FILE} ISTHMUS_CUDA_PTX)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ptx.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/cuda/ptx.hpp @ONLY)
isthmus_add_backend(cuda SOURCES cuda.cpp operations.cpp transfers.cpp kernels.cpp objects.cpp
                         api.cpp)
target_include_directories(isthmus_cuda PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/cuda)

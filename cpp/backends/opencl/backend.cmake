# Makes a C++ string of the kernels that exchange messages. Intel's FPGA emulator compiles it at run
# time; for a board the kernels are compiled beforehand.
set(ISTHMUS_CHANNEL_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/intel/exchange.cl)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ISTHMUS_CHANNEL_KERNELS})
file(READ ${ISTHMUS_CHANNEL_KERNELS} ISTHMUS_CHANNEL_SOURCE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/channel_source.hpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/opencl/channel_source.hpp @ONLY)
isthmus_add_backend(
  opencl
  SOURCES opencl.cpp operations.cpp kernel_operations.cpp binary_kernels.cpp kernel_memory.cpp objects.cpp
          offload.cpp api.cpp channels.cpp)
target_include_directories(isthmus_opencl PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/opencl)

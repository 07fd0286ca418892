# Its loops are x86 assembly.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  isthmus_add_backend(mmio SOURCES mmio.cpp operations.cpp baselines.cpp kernels.cpp pci.cpp vfio.cpp)
endif()

# The backend's loops are x86 assembly, so that it is built only for Linux on x86-64.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  isthmus_add_backend(mmio SOURCES mmio.cpp operations.cpp baselines.cpp kernels.cpp pci.cpp vfio.cpp)
  # One static program of the backend and the engine, which a virtual machine starts as init
  # (tests/test_mmio_guest.py).
  add_executable(isthmus_guest EXCLUDE_FROM_ALL tests/guest/main.cpp $<TARGET_OBJECTS:isthmus>
                                                $<TARGET_OBJECTS:isthmus_mmio>)
  target_include_directories(isthmus_guest PRIVATE cpp/include cpp/backends/mmio)
  target_link_libraries(isthmus_guest PRIVATE isthmus_options ${CMAKE_DL_LIBS} Threads::Threads)
  target_link_options(isthmus_guest PRIVATE -static)
endif()

find_path(
  XRT_INCLUDE_DIR xrt/xrt_bo.h
  HINTS $ENV{XILINX_XRT} /opt/xilinx/xrt
  PATH_SUFFIXES include include/xrt)
find_library(XRT_COREUTIL xrt_coreutil HINTS $ENV{XILINX_XRT}/lib /opt/xilinx/xrt/lib)
find_path(UUID_INCLUDE_DIR uuid/uuid.h)
if(XRT_INCLUDE_DIR AND XRT_COREUTIL AND UUID_INCLUDE_DIR)
  get_filename_component(xrt_file ${XRT_COREUTIL} REALPATH)
  string(REGEX REPLACE ".*\\.so\\." "" xrt_version ${xrt_file})
  isthmus_add_backend(xrt NEEDS_DEVICE SOURCES loader.cpp)
  target_compile_definitions(isthmus_xrt PRIVATE ISTHMUS_XRT_VERSION="${xrt_version}")
  # This library calls XRT and is not linked with it: loader.cpp opens XRT before this library.
  isthmus_add_library(xrt_native xrt SOURCES xrt.cpp session.cpp operations.cpp kernels.cpp buffers.cpp
                      offload.cpp registers.cpp)
  target_include_directories(isthmus_xrt_native SYSTEM PRIVATE ${XRT_INCLUDE_DIR} ${UUID_INCLUDE_DIR})
  add_dependencies(isthmus_xrt isthmus_xrt_native)
endif()

find_path(
  XRT_INCLUDE_DIR xrt/xrt_bo.h
  HINTS $ENV{XILINX_XRT} /opt/xilinx/xrt
  PATH_SUFFIXES include include/xrt)
find_library(XRT_COREUTIL xrt_coreutil HINTS $ENV{XILINX_XRT}/lib /opt/xilinx/xrt/lib)
find_path(UUID_INCLUDE_DIR uuid/uuid.h)
find_library(UUID_LIBRARY uuid)
if(XRT_INCLUDE_DIR AND XRT_COREUTIL AND UUID_INCLUDE_DIR AND UUID_LIBRARY)
  isthmus_add_backend(
    xrt SOURCES xrt.cpp session.cpp operations.cpp kernels.cpp buffers.cpp offload.cpp registers.cpp
    LIBRARIES ${XRT_COREUTIL} ${UUID_LIBRARY} isthmus_emulated_card)
  target_include_directories(isthmus_xrt SYSTEM PRIVATE ${XRT_INCLUDE_DIR} ${UUID_INCLUDE_DIR})
endif()

// The part of OpenCL's C API that Isthmus uses; it loads the ICD loader at run time.
//
// Types and values follow the OpenCL 1.2 specification, which fixes the ABI, so that the build
// needs no OpenCL header. A test compares them with the Khronos header if it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace isthmus::cl {

using Int = std::int32_t;
using Uint = std::uint32_t;
using Ulong = std::uint64_t;
using Bitfield = std::uint64_t;

struct PlatformTag;
struct DeviceTag;
struct ContextTag;
struct QueueTag;
struct MemTag;
struct ProgramTag;
struct KernelTag;
struct EventTag;
using Platform = PlatformTag*;
using DeviceId = DeviceTag*;
using Context = ContextTag*;
using Queue = QueueTag*;
using Mem = MemTag*;
using Program = ProgramTag*;
using Kernel = KernelTag*;
using Event = EventTag*;

inline constexpr Int success = 0;
inline constexpr Int device_not_found = -1;
inline constexpr Int platform_not_found_khr = -1001;
inline constexpr Uint no = 0;
inline constexpr Uint yes = 1;

inline constexpr Uint platform_version = 0x0901;
inline constexpr Uint platform_name = 0x0902;

inline constexpr Bitfield device_type_cpu = 1U << 1U;
inline constexpr Bitfield device_type_gpu = 1U << 2U;
inline constexpr Bitfield device_type_accelerator = 1U << 3U;
inline constexpr Bitfield device_type_all = 0xFFFFFFFFU;
inline constexpr Uint device_type = 0x1000;
inline constexpr Uint device_max_compute_units = 0x1002;
inline constexpr Uint device_max_work_group_size = 0x1004;
inline constexpr Uint device_max_mem_alloc_size = 0x1010;
inline constexpr Uint device_global_mem_size = 0x101F;
inline constexpr Uint device_available = 0x1027;
inline constexpr Uint device_compiler_available = 0x1028;
inline constexpr Uint device_name = 0x102B;
inline constexpr Uint device_vendor = 0x102C;
inline constexpr Uint driver_version = 0x102D;
inline constexpr Uint device_extensions = 0x1030;
inline constexpr Uint device_version = 0x102F;
inline constexpr Uint device_host_unified_memory = 0x1035;
inline constexpr Uint device_svm_capabilities = 0x1053;  // since OpenCL 2.0
inline constexpr Bitfield svm_coarse_grain_buffer = 1U << 0U;
inline constexpr Bitfield svm_fine_grain_buffer = 1U << 1U;
inline constexpr Bitfield mem_svm_fine_grain_buffer = 1U << 10U;
inline constexpr Uint device_pci_bus_info_khr = 0x410F;  // extension cl_khr_pci_bus_info

/// What a query of device_pci_bus_info_khr returns.
struct PciBusInfo {
  Uint domain;
  Uint bus;
  Uint device;
  Uint function;
};

inline constexpr Bitfield queue_profiling_enable = 1U << 1U;
inline constexpr Bitfield mem_read_write = 1U << 0U;
inline constexpr Bitfield mem_write_only = 1U << 1U;
inline constexpr Bitfield mem_read_only = 1U << 2U;
inline constexpr Bitfield mem_use_host_ptr = 1U << 3U;
inline constexpr Bitfield mem_alloc_host_ptr = 1U << 4U;
inline constexpr Bitfield map_read = 1U << 0U;
inline constexpr Bitfield map_write = 1U << 1U;
inline constexpr Bitfield map_write_all = 1U << 2U;  ///< CL_MAP_WRITE_INVALIDATE_REGION
inline constexpr Bitfield migrate_to_host = 1U << 0U;
inline constexpr Bitfield migrate_content_undefined = 1U << 1U;
inline constexpr Uint program_kernel_names = 0x1168;
inline constexpr Uint program_build_log = 0x1183;
inline constexpr Uint profiling_command_start = 0x1282;
inline constexpr Uint profiling_command_end = 0x1283;

// Each line: the type of the result, the name, the parameters.
#define ISTHMUS_OPENCL_FUNCTIONS(X)                                                              \
  X(Int, clGetPlatformIDs, (Uint, Platform*, Uint*))                                             \
  X(Int, clGetPlatformInfo, (Platform, Uint, std::size_t, void*, std::size_t*))                  \
  X(Int, clGetDeviceIDs, (Platform, Bitfield, Uint, DeviceId*, Uint*))                           \
  X(Int, clGetDeviceInfo, (DeviceId, Uint, std::size_t, void*, std::size_t*))                    \
  X(Context, clCreateContext,                                                                    \
    (const std::intptr_t*, Uint, const DeviceId*,                                                \
     void (*)(const char*, const void*, std::size_t, void*), void*, Int*))                       \
  X(Int, clReleaseContext, (Context))                                                            \
  X(Queue, clCreateCommandQueue, (Context, DeviceId, Bitfield, Int*))                            \
  X(Int, clReleaseCommandQueue, (Queue))                                                         \
  X(Mem, clCreateBuffer, (Context, Bitfield, std::size_t, void*, Int*))                          \
  X(Int, clReleaseMemObject, (Mem))                                                              \
  X(Int, clEnqueueReadBuffer,                                                                    \
    (Queue, Mem, Uint, std::size_t, std::size_t, void*, Uint, const Event*, Event*))             \
  X(Int, clEnqueueWriteBuffer,                                                                   \
    (Queue, Mem, Uint, std::size_t, std::size_t, const void*, Uint, const Event*, Event*))       \
  X(Int, clEnqueueReadBufferRect,                                                                \
    (Queue, Mem, Uint, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t,  \
     std::size_t, std::size_t, std::size_t, void*, Uint, const Event*, Event*))                  \
  X(Int, clEnqueueWriteBufferRect,                                                               \
    (Queue, Mem, Uint, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t,  \
     std::size_t, std::size_t, std::size_t, const void*, Uint, const Event*, Event*))            \
  X(void*, clEnqueueMapBuffer,                                                                   \
    (Queue, Mem, Uint, Bitfield, std::size_t, std::size_t, Uint, const Event*, Event*, Int*))    \
  X(Int, clEnqueueUnmapMemObject, (Queue, Mem, void*, Uint, const Event*, Event*))               \
  X(Int, clEnqueueMigrateMemObjects,                                                             \
    (Queue, Uint, const Mem*, Bitfield, Uint, const Event*, Event*))                             \
  X(Int, clEnqueueNDRangeKernel,                                                                 \
    (Queue, Kernel, Uint, const std::size_t*, const std::size_t*, const std::size_t*, Uint,      \
     const Event*, Event*))                                                                      \
  X(Int, clFlush, (Queue))                                                                       \
  X(Int, clFinish, (Queue))                                                                      \
  X(Int, clGetEventProfilingInfo, (Event, Uint, std::size_t, void*, std::size_t*))               \
  X(Int, clReleaseEvent, (Event))                                                                \
  X(Program, clCreateProgramWithSource, (Context, Uint, const char**, const std::size_t*, Int*)) \
  X(Program, clCreateProgramWithBinary,                                                          \
    (Context, Uint, const DeviceId*, const std::size_t*, const unsigned char**, Int*, Int*))     \
  X(Int, clBuildProgram,                                                                         \
    (Program, Uint, const DeviceId*, const char*, void (*)(Program, void*), void*))              \
  X(Int, clGetProgramBuildInfo, (Program, DeviceId, Uint, std::size_t, void*, std::size_t*))     \
  X(Int, clGetProgramInfo, (Program, Uint, std::size_t, void*, std::size_t*))                    \
  X(Int, clReleaseProgram, (Program))                                                            \
  X(Kernel, clCreateKernel, (Program, const char*, Int*))                                        \
  X(Int, clSetKernelArg, (Kernel, Uint, std::size_t, const void*))                               \
  X(Int, clReleaseKernel, (Kernel))

// Functions of OpenCL 2.0: their pointers are null if the loader lacks them.
#define ISTHMUS_OPENCL_2_FUNCTIONS(X)                                                              \
  X(void*, clSVMAlloc, (Context, Bitfield, std::size_t, Uint))                                     \
  X(void, clSVMFree, (Context, void*))                                                             \
  X(Int, clSetKernelArgSVMPointer, (Kernel, Uint, const void*))                                    \
  X(Int, clEnqueueSVMMap, (Queue, Uint, Bitfield, void*, std::size_t, Uint, const Event*, Event*)) \
  X(Int, clEnqueueSVMUnmap, (Queue, void*, Uint, const Event*, Event*))

/// AMD's structure in place of a host pointer, if a flag says so. It names the card's memory for a
/// buffer, which the runtime otherwise derives from the kernels that use the buffer.
struct ExtendedPointer {
  Uint memory;
  void* host;
  void* unused;
};
inline constexpr Bitfield mem_extended_pointer = Bitfield{1} << 31U;
inline constexpr Uint memory_by_index = 1U << 31U;
/// The buffer is host memory that the device accesses.
inline constexpr Uint memory_of_host = 1U << 29U;

/// Pointers to the functions of one ICD loader.
struct Api {
#define ISTHMUS_DECLARE(Result, name, parameters) Result(*name) parameters = nullptr;
  ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_DECLARE)
  ISTHMUS_OPENCL_2_FUNCTIONS(ISTHMUS_DECLARE)  ///< null if the loader lacks OpenCL 2.0
#undef ISTHMUS_DECLARE
  std::string loader;              ///< the name by which the loader was opened
  bool extended_pointers = false;  ///< whether the library accepts ExtendedPointer
};

/// Opens `$ISTHMUS_OPENCL_LOADER`, else libOpenCL.so.1, at the first call. Throws BackendError.
const Api& api();

/// Throws BackendError "CALL: NAME (CODE)" unless the code is success.
void check(Int code, const char* call);

/// Returns the specification's name of an error code without "CL_".
const char* error_name(Int code);

}  // namespace isthmus::cl

// The part of CUDA's driver API that Isthmus uses; it loads the driver's library at run time.
//
// Types and values follow the driver's documented ABI, so that the build needs no CUDA toolkit. A
// test compares them with cuda.h if it is installed. Some functions have several versions: the
// table names the symbol whose parameters are declared here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace isthmus::cuda {

using Result = int;
using DeviceId = int;
using Address = std::uint64_t;  ///< address in device memory

struct ContextTag;
struct StreamTag;
struct EventTag;
struct ModuleTag;
struct FunctionTag;
struct GraphTag;
struct GraphExecTag;
struct ArrayTag;
using Context = ContextTag*;
using Stream = StreamTag*;
using Event = EventTag*;
using Module = ModuleTag*;
using Function = FunctionTag*;
using Graph = GraphTag*;
using GraphExec = GraphExecTag*;
using Array = ArrayTag*;

struct Uuid {
  std::array<unsigned char, 16> bytes;
};

/// A handle with which another process can open this process's device memory.
struct IpcHandle {
  std::array<char, 64> bytes;
};

inline constexpr Result success = 0;
inline constexpr Result not_ready = 600;

// Numbers of a device's attributes (CUdevice_attribute).
inline constexpr int clock_kilohertz = 13;
inline constexpr int multiprocessors = 16;
inline constexpr int integrated = 18;
inline constexpr int can_map_host_memory = 19;
inline constexpr int compute_mode = 20;
inline constexpr int ecc_enabled = 32;
inline constexpr int pci_bus = 33;
inline constexpr int pci_device = 34;
inline constexpr int memory_clock_kilohertz = 36;
inline constexpr int memory_bus_bits = 37;
inline constexpr int l2_cache_bytes = 38;
inline constexpr int copy_engines = 40;
inline constexpr int unified_addressing = 41;
inline constexpr int pci_domain = 50;
inline constexpr int compute_capability_major = 75;
inline constexpr int compute_capability_minor = 76;
inline constexpr int managed_memory = 83;
inline constexpr int pageable_memory_access = 88;
inline constexpr int concurrent_managed_access = 89;
inline constexpr int host_register_supported = 99;

inline constexpr unsigned host_alloc_mapped = 2;
inline constexpr unsigned host_alloc_write_combined = 4;
inline constexpr unsigned attach_global = 1;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr int capture_thread_local = 1;
inline constexpr int jit_error_log = 5;
inline constexpr int jit_error_log_bytes = 6;
inline constexpr unsigned ipc_enable_peer_access = 1;
/// (value - wanted) >= 0 as a signed number.
inline constexpr unsigned wait_for_value_or_later = 0;
/// Writes after all earlier work of the stream.
inline constexpr unsigned write_value_in_order = 0;
inline constexpr int memory_on_host = 1;
inline constexpr int memory_on_device = 2;

/// The source or the destination in Copy2D.
template <class HostPointer>
struct CopyEnd {
  std::size_t x_bytes;
  std::size_t y;
  int memory;
  HostPointer host;
  Address device;
  Array array;
  std::size_t pitch;
};

/// Parameters of a strided copy: CUDA_MEMCPY2D.
struct Copy2D {
  CopyEnd<const void*> from;
  CopyEnd<void*> to;
  std::size_t width_bytes;
  std::size_t height;
};

// Each line: the name, the symbol in the library, the parameters.
#define ISTHMUS_CUDA_FUNCTIONS(X)                                                             \
  X(cuInit, cuInit, (unsigned))                                                               \
  X(cuDriverGetVersion, cuDriverGetVersion, (int*))                                           \
  X(cuGetErrorName, cuGetErrorName, (Result, const char**))                                   \
  X(cuGetErrorString, cuGetErrorString, (Result, const char**))                               \
  X(cuDeviceGetCount, cuDeviceGetCount, (int*))                                               \
  X(cuDeviceGet, cuDeviceGet, (DeviceId*, int))                                               \
  X(cuDeviceGetName, cuDeviceGetName, (char*, int, DeviceId))                                 \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (Uuid*, DeviceId))                                   \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t*, DeviceId))                          \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, int, DeviceId))                        \
  X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, DeviceId, DeviceId))                 \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (Context*, DeviceId))                 \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceId))                      \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (Context))                                              \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (Context))                                         \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (Context*))                                          \
  X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (Context, unsigned))                        \
  X(cuMemAlloc, cuMemAlloc_v2, (Address*, std::size_t))                                       \
  X(cuMemFree, cuMemFree_v2, (Address))                                                       \
  X(cuMemAllocManaged, cuMemAllocManaged, (Address*, std::size_t, unsigned))                  \
  X(cuMemHostAlloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                          \
  X(cuMemFreeHost, cuMemFreeHost, (void*))                                                    \
  X(cuMemHostRegister, cuMemHostRegister_v2, (void*, std::size_t, unsigned))                  \
  X(cuMemHostUnregister, cuMemHostUnregister, (void*))                                        \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (Address*, void*, unsigned))     \
  X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (Address, const void*, std::size_t))                       \
  X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void*, Address, std::size_t))                             \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (Address, const void*, std::size_t, Stream))     \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, Address, std::size_t, Stream))           \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync,                                                     \
    (Address, Context, Address, Context, std::size_t, Stream))                                \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (Address, Address, std::size_t, Stream))         \
  X(cuMemcpy2D, cuMemcpy2D_v2, (const Copy2D*))                                               \
  X(cuIpcGetMemHandle, cuIpcGetMemHandle, (IpcHandle*, Address))                              \
  X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, (Address*, IpcHandle, unsigned))               \
  X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, (Address))                                      \
  X(cuStreamCreate, cuStreamCreate, (Stream*, unsigned))                                      \
  X(cuStreamDestroy, cuStreamDestroy_v2, (Stream))                                            \
  X(cuStreamSynchronize, cuStreamSynchronize, (Stream))                                       \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))                          \
  X(cuEventCreate, cuEventCreate, (Event*, unsigned))                                         \
  X(cuEventDestroy, cuEventDestroy_v2, (Event))                                               \
  X(cuEventRecord, cuEventRecord, (Event, Stream))                                            \
  X(cuEventQuery, cuEventQuery, (Event))                                                      \
  X(cuEventElapsedTime, cuEventElapsedTime, (float*, Event, Event))                           \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, (Module*, const void*, unsigned, int*, void**))   \
  X(cuModuleUnload, cuModuleUnload, (Module))                                                 \
  X(cuModuleGetFunction, cuModuleGetFunction, (Function*, Module, const char*))               \
  X(cuLaunchKernel, cuLaunchKernel,                                                           \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,  \
     void**, void**))                                                                         \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (Stream, int))                             \
  X(cuStreamEndCapture, cuStreamEndCapture, (Stream, Graph*))                                 \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long)) \
  X(cuGraphLaunch, cuGraphLaunch, (GraphExec, Stream))                                        \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (GraphExec))                                      \
  X(cuGraphDestroy, cuGraphDestroy, (Graph))

// Functions that drivers before 515 (CUDA 11.7) lack: their pointers are then null.
#define ISTHMUS_CUDA_LATER_FUNCTIONS(X)                                                      \
  X(cuStreamWaitValue32, cuStreamWaitValue32_v2, (Stream, Address, std::uint32_t, unsigned)) \
  X(cuStreamWriteValue32, cuStreamWriteValue32_v2, (Stream, Address, std::uint32_t, unsigned))

/// Pointers to the functions of one library, after cuInit.
struct Api {
#define ISTHMUS_DECLARE(name, symbol, parameters) Result(*name) parameters = nullptr;
  ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_DECLARE)
  ISTHMUS_CUDA_LATER_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
  std::string library;  ///< the name by which the library was opened
};

/// Opens `$ISTHMUS_CUDA_DRIVER`, else libcuda.so.1, at the first call. Throws BackendError that
/// says what is missing and what helps.
const Api& api();

/// Throws BackendError "CALL: NAME (CODE): meaning and remedy", or DeviceLostError if this process
/// can no longer use the device.
[[noreturn]] void fail(Result code, const char* call);

inline void check(Result code, const char* call) {
  if (code != success) [[unlikely]] {
    fail(code, call);
  }
}

}  // namespace isthmus::cuda

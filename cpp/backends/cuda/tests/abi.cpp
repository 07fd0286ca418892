// Compares our declarations of CUDA's driver API with cuda.h if it is installed, and sizes always.
#include <catch2/catch.hpp>
#include <cstddef>

#include "../api.hpp"

namespace isthmus::cuda {
namespace {

static_assert(sizeof(Copy2D) == 128);
static_assert(offsetof(Copy2D, to) == 56 && offsetof(Copy2D, width_bytes) == 112);
static_assert(offsetof(CopyEnd<void*>, host) == 24 && offsetof(CopyEnd<void*>, pitch) == 48);
static_assert(sizeof(Uuid) == 16);

}  // namespace
}  // namespace isthmus::cuda

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <concepts>
#include <type_traits>

namespace isthmus::cuda {
namespace {

/// Whether calls pass both types alike. Our handles stand for CUDA's; pointers and functions are
/// compared part by part, other types by size.
template <class Ours, class Theirs>
struct Same : std::is_same<Ours, Theirs> {};
template <>
struct Same<ContextTag, CUctx_st> : std::true_type {};
template <>
struct Same<StreamTag, CUstream_st> : std::true_type {};
template <>
struct Same<EventTag, CUevent_st> : std::true_type {};
template <>
struct Same<ModuleTag, CUmod_st> : std::true_type {};
template <>
struct Same<FunctionTag, CUfunc_st> : std::true_type {};
template <>
struct Same<GraphTag, CUgraph_st> : std::true_type {};
template <>
struct Same<GraphExecTag, CUgraphExec_st> : std::true_type {};
template <>
struct Same<Uuid, CUuuid> : std::bool_constant<sizeof(Uuid) == sizeof(CUuuid)> {};
template <>
struct Same<IpcHandle, CUipcMemHandle>
    : std::bool_constant<sizeof(IpcHandle) == sizeof(CUipcMemHandle)> {};
template <>
struct Same<Copy2D, CUDA_MEMCPY2D> : std::bool_constant<sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D)> {};

template <class Type>
concept Scalar = std::integral<Type> || std::is_enum_v<Type>;
template <Scalar Ours, Scalar Theirs>
struct Same<Ours, Theirs> {
  static constexpr bool value = sizeof(Ours) == sizeof(Theirs);
};
template <class Ours, class Theirs>
struct Same<Ours*, Theirs*> {
  static constexpr bool value = std::is_const_v<Ours> == std::is_const_v<Theirs> &&
                                Same<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>::value;
};
template <class Ours, class... Our, class Theirs, class... Their>
  requires(sizeof...(Our) == sizeof...(Their))
struct Same<Ours(Our...), Theirs(Their...)> {
  static constexpr bool value = Same<Ours, Theirs>::value && (Same<Our, Their>::value && ...);
};

static_assert(Same<Context*, CUcontext*>::value);
static_assert(!Same<Stream, CUevent>::value);
static_assert(!Same<Address, int>::value);
static_assert(!Same<Result (*)(Stream), CUresult (*)(CUstream, int)>::value);

// cuda.h's macros replace each name by the newest version; `symbol` is the version that we call.
#define ISTHMUS_COMPARE(name, symbol, parameters) \
  static_assert(Same<Result(*) parameters, decltype(&::symbol)>::value, #symbol);
ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_COMPARE)
ISTHMUS_CUDA_LATER_FUNCTIONS(ISTHMUS_COMPARE)
#undef ISTHMUS_COMPARE

static_assert(success == CUDA_SUCCESS);
static_assert(not_ready == CUDA_ERROR_NOT_READY);
static_assert(ipc_enable_peer_access == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(wait_for_value_or_later == CU_STREAM_WAIT_VALUE_GEQ);
static_assert(write_value_in_order == CU_STREAM_WRITE_VALUE_DEFAULT);
static_assert(clock_kilohertz == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(integrated == CU_DEVICE_ATTRIBUTE_INTEGRATED);
static_assert(can_map_host_memory == CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
static_assert(compute_mode == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
static_assert(ecc_enabled == CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
static_assert(pci_bus == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
static_assert(pci_device == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
static_assert(memory_clock_kilohertz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(memory_bus_bits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(l2_cache_bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(copy_engines == CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
static_assert(unified_addressing == CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
static_assert(pci_domain == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
static_assert(compute_capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(compute_capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(managed_memory == CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
static_assert(pageable_memory_access == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
static_assert(concurrent_managed_access == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
static_assert(host_register_supported == CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
static_assert(host_alloc_mapped == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(host_alloc_write_combined == CU_MEMHOSTALLOC_WRITECOMBINED);
static_assert(attach_global == CU_MEM_ATTACH_GLOBAL);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_default == CU_EVENT_DEFAULT);
static_assert(event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(jit_error_log == CU_JIT_ERROR_LOG_BUFFER);
static_assert(jit_error_log_bytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(memory_on_host == CU_MEMORYTYPE_HOST);
static_assert(memory_on_device == CU_MEMORYTYPE_DEVICE);
static_assert(offsetof(Copy2D, from.host) == offsetof(CUDA_MEMCPY2D, srcHost));
static_assert(offsetof(Copy2D, from.pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(Copy2D, to.device) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy2D, to.pitch) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height));

}  // namespace
}  // namespace isthmus::cuda
#endif

TEST_CASE("cuda: declarations have the sizes of the driver's ABI", "[cuda]") {
  SUCCEED("compared when this was compiled");
}

// Compares our declarations of OpenCL with the Khronos header if it is installed; to compile is the
// test.
#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // declares these functions alike on every version
// The header's scalar types have alignments, which do not matter in calls.
#pragma GCC diagnostic ignored "-Wignored-attributes"
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <catch2/catch.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "../api.hpp"

namespace isthmus::cl {
namespace {

/// Whether calls pass both types alike. Our handles stand for Khronos'; pointers and functions are
/// compared part by part, other types by size and sign.
template <class Ours, class Theirs>
struct Same : std::is_same<Ours, Theirs> {};
template <>
struct Same<PlatformTag, _cl_platform_id> : std::true_type {};
template <>
struct Same<DeviceTag, _cl_device_id> : std::true_type {};
template <>
struct Same<ContextTag, _cl_context> : std::true_type {};
template <>
struct Same<QueueTag, _cl_command_queue> : std::true_type {};
template <>
struct Same<MemTag, _cl_mem> : std::true_type {};
template <>
struct Same<ProgramTag, _cl_program> : std::true_type {};
template <>
struct Same<KernelTag, _cl_kernel> : std::true_type {};
template <>
struct Same<EventTag, _cl_event> : std::true_type {};

template <std::integral Ours, std::integral Theirs>
struct Same<Ours, Theirs> {
  static constexpr bool value =
      sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
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

static_assert(Same<const Event*, const cl_event*>::value);
static_assert(!Same<const Event*, cl_event*>::value);
static_assert(!Same<Event, cl_mem>::value);
static_assert(!Same<Int, cl_uint>::value);
static_assert(!Same<Int (*)(Queue), cl_int (*)(cl_command_queue, cl_uint)>::value);

#define ISTHMUS_COMPARE(Result, name, parameters) \
  static_assert(Same<Result(*) parameters, decltype(&::name)>::value, #name);
ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_COMPARE)
ISTHMUS_OPENCL_2_FUNCTIONS(ISTHMUS_COMPARE)
#undef ISTHMUS_COMPARE

static_assert(success == CL_SUCCESS);
static_assert(device_not_found == CL_DEVICE_NOT_FOUND);
static_assert(no == CL_FALSE && yes == CL_TRUE);
static_assert(platform_version == CL_PLATFORM_VERSION);
static_assert(platform_name == CL_PLATFORM_NAME);
static_assert(device_type_cpu == CL_DEVICE_TYPE_CPU);
static_assert(device_type_gpu == CL_DEVICE_TYPE_GPU);
static_assert(device_type_accelerator == CL_DEVICE_TYPE_ACCELERATOR);
static_assert(device_type_all == CL_DEVICE_TYPE_ALL);
static_assert(device_type == CL_DEVICE_TYPE);
static_assert(device_max_compute_units == CL_DEVICE_MAX_COMPUTE_UNITS);
static_assert(device_max_work_group_size == CL_DEVICE_MAX_WORK_GROUP_SIZE);
static_assert(device_max_mem_alloc_size == CL_DEVICE_MAX_MEM_ALLOC_SIZE);
static_assert(device_global_mem_size == CL_DEVICE_GLOBAL_MEM_SIZE);
static_assert(device_available == CL_DEVICE_AVAILABLE);
static_assert(device_compiler_available == CL_DEVICE_COMPILER_AVAILABLE);
static_assert(device_name == CL_DEVICE_NAME);
static_assert(device_vendor == CL_DEVICE_VENDOR);
static_assert(driver_version == CL_DRIVER_VERSION);
static_assert(device_extensions == CL_DEVICE_EXTENSIONS);
static_assert(device_version == CL_DEVICE_VERSION);
static_assert(device_host_unified_memory == CL_DEVICE_HOST_UNIFIED_MEMORY);
static_assert(queue_profiling_enable == CL_QUEUE_PROFILING_ENABLE);
static_assert(mem_read_write == CL_MEM_READ_WRITE);
static_assert(mem_use_host_ptr == CL_MEM_USE_HOST_PTR);
static_assert(mem_alloc_host_ptr == CL_MEM_ALLOC_HOST_PTR);
static_assert(map_read == CL_MAP_READ);
static_assert(map_write == CL_MAP_WRITE);
static_assert(map_write_all == CL_MAP_WRITE_INVALIDATE_REGION);
static_assert(migrate_to_host == CL_MIGRATE_MEM_OBJECT_HOST);
static_assert(migrate_content_undefined == CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED);
static_assert(device_svm_capabilities == CL_DEVICE_SVM_CAPABILITIES);
static_assert(svm_fine_grain_buffer == CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
static_assert(mem_svm_fine_grain_buffer == CL_MEM_SVM_FINE_GRAIN_BUFFER);
static_assert(program_kernel_names == CL_PROGRAM_KERNEL_NAMES);
static_assert(program_build_log == CL_PROGRAM_BUILD_LOG);
static_assert(profiling_command_start == CL_PROFILING_COMMAND_START);
static_assert(profiling_command_end == CL_PROFILING_COMMAND_END);

#ifdef CL_DEVICE_PCI_BUS_INFO_KHR  // in headers since 2021
static_assert(device_pci_bus_info_khr == CL_DEVICE_PCI_BUS_INFO_KHR);
static_assert(sizeof(PciBusInfo) == sizeof(cl_device_pci_bus_info_khr));
static_assert(offsetof(PciBusInfo, domain) == offsetof(cl_device_pci_bus_info_khr, pci_domain));
static_assert(offsetof(PciBusInfo, bus) == offsetof(cl_device_pci_bus_info_khr, pci_bus));
static_assert(offsetof(PciBusInfo, device) == offsetof(cl_device_pci_bus_info_khr, pci_device));
static_assert(offsetof(PciBusInfo, function) == offsetof(cl_device_pci_bus_info_khr, pci_function));
#endif

}  // namespace
}  // namespace isthmus::cl

TEST_CASE("opencl: declarations agree with the Khronos header", "[opencl]") {
  SUCCEED("compared when this was compiled");
}
#endif

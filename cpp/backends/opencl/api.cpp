#include "api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "isthmus/backend.hpp"

namespace isthmus::cl {
namespace {

constexpr std::array<std::pair<Int, const char*>, 22> error_names = {{
    {-1, "DEVICE_NOT_FOUND"},
    {-2, "DEVICE_NOT_AVAILABLE"},
    {-3, "COMPILER_NOT_AVAILABLE"},
    {-4, "MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "OUT_OF_RESOURCES"},
    {-6, "OUT_OF_HOST_MEMORY"},
    {-7, "PROFILING_INFO_NOT_AVAILABLE"},
    {-11, "BUILD_PROGRAM_FAILURE"},
    {-12, "MAP_FAILURE"},
    {-14, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "INVALID_VALUE"},
    {-33, "INVALID_DEVICE"},
    {-34, "INVALID_CONTEXT"},
    {-36, "INVALID_COMMAND_QUEUE"},
    {-38, "INVALID_MEM_OBJECT"},
    {-48, "INVALID_KERNEL"},
    {-52, "INVALID_KERNEL_ARGS"},
    {-54, "INVALID_WORK_GROUP_SIZE"},
    {-58, "INVALID_EVENT"},
    {-59, "INVALID_OPERATION"},
    {-61, "INVALID_BUFFER_SIZE"},
    {-1001, "PLATFORM_NOT_FOUND_KHR"},
}};

Api load() {
  const char* named = std::getenv("ISTHMUS_OPENCL_LOADER");
  Api loaded;
  loaded.loader = named != nullptr ? named : "libOpenCL.so.1";
  void* object = dlopen(loaded.loader.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    throw BackendError(std::string("no OpenCL loader: ") + dlerror());
  }
#define ISTHMUS_FIND(Result, name, parameters)                                \
  loaded.name = reinterpret_cast<Result(*) parameters>(dlsym(object, #name)); \
  if (loaded.name == nullptr) {                                               \
    throw BackendError(loaded.loader + " lacks " #name);                      \
  }
  ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_FIND)
#undef ISTHMUS_FIND
#define ISTHMUS_FIND(Result, name, parameters) \
  loaded.name = reinterpret_cast<Result(*) parameters>(dlsym(object, #name));
  ISTHMUS_OPENCL_2_FUNCTIONS(ISTHMUS_FIND)
#undef ISTHMUS_FIND
  // Extended pointers came with this function, and no other function or version shows them.
  loaded.extended_pointers = dlsym(object, "xclGetMemObjDeviceAddress") != nullptr;
  return loaded;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

const char* error_name(Int code) {
  const auto* found = std::ranges::find(error_names, code, &std::pair<Int, const char*>::first);
  return found == error_names.end() ? "error" : found->second;
}

void check(Int code, const char* call) {
  if (code != success) {
    throw BackendError(std::string(call) + ": " + error_name(code) + " (" + std::to_string(code) +
                       ")");
  }
}

}  // namespace isthmus::cl

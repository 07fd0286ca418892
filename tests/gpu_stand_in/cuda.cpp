// A driver of GPUs whose memory is the host's, and whose streams are done at once: as much as
// messages between them need. STAND_IN_BOARDS has a digit for each GPU, in the driver's order; the
// digit is part of the GPU's PCI address and UUID. STAND_IN_LOG is a file that gets a line for each
// GPU that is used: the process, and the digit. STAND_IN_NAME is the name of all GPUs, and the text
// of errors.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "api.hpp"

namespace isthmus::cuda {
namespace {

constexpr std::size_t page = 4096;

void* allocate(std::size_t bytes) {
  return std::aligned_alloc(page, (bytes + page - 1) / page * page);
}
void* at(Address address) { return reinterpret_cast<void*>(address); }

std::string_view boards() {
  const char* chosen = std::getenv("STAND_IN_BOARDS");
  return chosen != nullptr ? chosen : "01";
}
int digit(DeviceId device) { return boards().at(static_cast<std::size_t>(device)) - '0'; }

}  // namespace

extern "C" {
Result cuInit(unsigned) { return success; }
Result cuDriverGetVersion(int* version) {
  *version = 12040;
  return success;
}
Result cuGetErrorName(Result, const char** text) {
  *text = "CUDA_ERROR";
  return success;
}
Result cuGetErrorString(Result, const char** text) {
  const char* chosen = std::getenv("STAND_IN_NAME");
  *text = chosen != nullptr ? chosen : "an error";
  return success;
}
Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(boards().size());
  return success;
}
Result cuDeviceGet(DeviceId* device, int index) {
  *device = index;
  return success;
}
Result cuDeviceGetName(char* name, int bytes, DeviceId) {
  const char* chosen = std::getenv("STAND_IN_NAME");
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s",
                chosen != nullptr ? chosen : "stand-in");
  return success;
}
Result cuDeviceGetUuid_v2(Uuid* uuid, DeviceId device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<unsigned char>(digit(device));
  return success;
}
Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceId) {
  *bytes = std::size_t{1} << 33;
  return success;
}
Result cuDeviceGetAttribute(int* value, int which, DeviceId device) {
  *value = which == pci_bus ? 1 + digit(device) : 0;
  return success;
}
Result cuDeviceCanAccessPeer(int* can, DeviceId, DeviceId) {
  *can = 0;
  return success;
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  const char* path = std::getenv("STAND_IN_LOG");
  if (std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr; file != nullptr) {
    std::fprintf(file, "%d uses %d\n", getpid(), digit(device));
    std::fclose(file);
  }
  *context = reinterpret_cast<Context>(static_cast<Address>(device) + 1);
  return success;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceId) { return success; }
Result cuCtxSetCurrent(Context) { return success; }
Result cuCtxPushCurrent_v2(Context) { return success; }
Result cuCtxPopCurrent_v2(Context*) { return success; }
Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  *address = reinterpret_cast<Address>(allocate(bytes));
  return success;
}
Result cuMemFree_v2(Address address) {
  std::free(at(address));
  return success;
}
Result cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  *host = allocate(bytes);
  return success;
}
Result cuMemFreeHost(void* host) {
  std::free(host);
  return success;
}
Result cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  std::memcpy(at(to), from, bytes);
  return success;
}
Result cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  std::memcpy(to, at(from), bytes);
  return success;
}
Result cuMemcpy2D_v2(const Copy2D* copy) {
  const auto* from = static_cast<const char*>(
      copy->from.memory == memory_on_host ? copy->from.host : at(copy->from.device));
  auto* to =
      static_cast<char*>(copy->to.memory == memory_on_host ? copy->to.host : at(copy->to.device));
  for (std::size_t row = 0; row < copy->height; ++row) {
    std::memcpy(to + row * copy->to.pitch, from + row * copy->from.pitch, copy->width_bytes);
  }
  return success;
}
Result cuStreamCreate(Stream* stream, unsigned) {
  *stream = static_cast<Stream>(allocate(1));
  return success;
}
Result cuStreamDestroy_v2(Stream stream) {
  std::free(stream);
  return success;
}
Result cuStreamSynchronize(Stream) { return success; }
Result cuEventCreate(Event* event, unsigned) {
  *event = static_cast<Event>(allocate(1));
  return success;
}
Result cuEventDestroy_v2(Event event) {
  std::free(event);
  return success;
}
Result cuEventRecord(Event, Stream) { return success; }
/// Nothing ends where a neighbour is said to have failed.
Result cuEventQuery(Event) {
  return std::getenv("STAND_IN_FAILURE") != nullptr ? not_ready : success;
}
}

}  // namespace isthmus::cuda

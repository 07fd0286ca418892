#include "nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace isthmus::cuda {
namespace {

// Declarations of NVML, as in nvml.h: libnvidia-ml.so.1 comes with the driver.
struct DeviceTag;
using Device = DeviceTag*;
using Status = int;

constexpr Status ok = 0;
constexpr int active = 1;
/// Number of links that are asked for, more than any GPU has (18 since Hopper).
constexpr unsigned most_links = 64;
/// Field numbers of a link's speed in MB/s in each direction: of the link that the scope names, and
/// common to all active links.
constexpr unsigned field_link_speed = 164;
constexpr unsigned field_common_speed = 90;
constexpr double megabyte = 1e6;

/// nvmlFieldValue_t; a speed is a 32-bit unsigned number in the union at the end.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  Status status;
  union {
    unsigned number;
    std::uint64_t room;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

constexpr const char* library_name = "libnvidia-ml.so.1";

class Library {
 public:
  explicit Library(const std::string& driver) {
    void* object = nullptr;
    if (const auto slash = driver.rfind('/'); slash != std::string::npos) {
      object = dlopen((driver.substr(0, slash + 1) + library_name).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (object == nullptr) {
      object = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    }
    if (object == nullptr) {
      return;
    }
    const auto bind = [object](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(object, name));
    };
    bind(begin, "nvmlInit_v2");
    bind(device_at, "nvmlDeviceGetHandleByPciBusId_v2");
    bind(link_state, "nvmlDeviceGetNvLinkState");
    bind(values, "nvmlDeviceGetFieldValues");
    bind(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons == nullptr) {  // the function's name before CUDA 12.2
      bind(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    bind(replays, "nvmlDeviceGetPcieReplayCounter");
    works = begin != nullptr && device_at != nullptr && link_state != nullptr &&
            values != nullptr && begin() == ok;
  }

  [[nodiscard]] std::optional<double> speed(Device device, unsigned field, unsigned link) const {
    FieldValue query{};
    query.field = field;
    query.scope = link;
    if (values(device, 1, &query) != ok || query.status != ok || query.value.number == 0) {
      return std::nullopt;
    }
    return query.value.number * megabyte;
  }

  bool works = false;
  Status (*begin)() = nullptr;
  Status (*device_at)(const char*, Device*) = nullptr;
  Status (*link_state)(Device, unsigned, int*) = nullptr;
  Status (*values)(Device, int, FieldValue*) = nullptr;
  Status (*reasons)(Device, unsigned long long*) = nullptr;  ///< null: some drivers lack it
  Status (*replays)(Device, unsigned*) = nullptr;            ///< null: some drivers lack it
};

const Library& library_beside(const std::string& driver) {
  static const Library library(driver);
  return library;
}

/// nvmlClocksEventReason...: reasons for a low clock, without idleness and clocks that a user set.
constexpr std::array<std::pair<unsigned long long, const char*>, 5> slowdowns = {{
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x20, "driver's thermal slowdown"},
    {0x40, "thermal slowdown"},
    {0x80, "power brake"},
}};

}  // namespace

std::optional<Nvlink> nvlink_of(const std::string& pci_address, const std::string& driver) {
  const Library& library = library_beside(driver);
  Device device = nullptr;
  if (!library.works || library.device_at(pci_address.c_str(), &device) != ok) {
    return std::nullopt;
  }
  Nvlink found{};
  for (unsigned link = 0; link < most_links; ++link) {
    int state = 0;
    if (library.link_state(device, link, &state) != ok || state != active) {
      continue;
    }
    std::optional<double> speed = library.speed(device, field_link_speed, link);
    if (!speed) {  // older drivers know only the common speed
      speed = library.speed(device, field_common_speed, 0);
    }
    if (!speed) {  // without this link the sum would be too low a limit
      return std::nullopt;
    }
    ++found.links;
    found.bytes_per_second_one_way += *speed;
  }
  return found.links > 0 ? std::optional(found) : std::nullopt;
}

std::optional<Condition> condition_of(const std::string& pci_address, const std::string& driver) {
  const Library& library = library_beside(driver);
  Device device = nullptr;
  unsigned long long reasons = 0;
  if (!library.works || library.device_at(pci_address.c_str(), &device) != ok ||
      library.reasons == nullptr || library.reasons(device, &reasons) != ok) {
    return std::nullopt;
  }
  Condition found{.slowed_by = {}, .replays = "unknown"};
  for (const auto& [bit, name] : slowdowns) {
    if ((reasons & bit) != 0) {
      found.slowed_by += (found.slowed_by.empty() ? "" : ", ") + std::string(name);
    }
  }
  if (found.slowed_by.empty()) {
    found.slowed_by = "none";
  }
  if (unsigned replays = 0; library.replays != nullptr && library.replays(device, &replays) == ok) {
    found.replays = std::to_string(replays);
  }
  return found;
}

}  // namespace isthmus::cuda

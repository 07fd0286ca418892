// The backend `cuda`: NVIDIA GPUs through the driver's API, whose library is loaded at run time.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "joint.hpp"
#include "nccl.hpp"
#include "nvml.hpp"
#include "offload.hpp"
#include "operations.hpp"
#include "peers.hpp"

namespace isthmus {
namespace {

using cuda::api;
using cuda::attribute;
using cuda::can_reach;

int device_count() {
  int count = 0;
  cuda::check(api().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

cuda::DeviceId device_at(int index) {
  cuda::DeviceId device = 0;
  cuda::check(api().cuDeviceGet(&device, index), "cuDeviceGet");
  return device;
}

std::string name_of(cuda::DeviceId device) {
  std::array<char, 256> name{};
  cuda::check(api().cuDeviceGetName(name.data(), name.size(), device), "cuDeviceGetName");
  return name.data();
}

/// Returns the UUID as nvidia-smi writes it.
std::string uuid_of(cuda::DeviceId device) {
  cuda::Uuid uuid{};
  cuda::check(api().cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    std::array<char, 4> pair{};
    std::snprintf(pair.data(), pair.size(), "%02x", uuid.bytes[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    text += pair.data();
  }
  return text;
}

/// Returns the PCI address as sysfs writes it.
std::string pci_address_of(cuda::DeviceId device) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", attribute(device, cuda::pci_domain),
                attribute(device, cuda::pci_bus), attribute(device, cuda::pci_device));
  return text.data();
}

/// Returns the version of the kernel module, "" if unknown.
std::string kernel_driver() {
  std::string version;
  std::getline(std::ifstream("/sys/module/nvidia/version") >> std::ws, version);
  return version;
}

/// Returns the newest version of CUDA that the driver supports.
std::string cuda_version() {
  int version = 0;
  cuda::check(api().cuDriverGetVersion(&version), "cuDriverGetVersion");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns a device's attribute as text for the record; some drivers lack some attributes.
std::string number(cuda::DeviceId device, int which) {
  int value = 0;
  const bool known = api().cuDeviceGetAttribute(&value, which, device) == cuda::success;
  return known ? std::to_string(value) : "unknown";
}

std::string yes_or_no(cuda::DeviceId device, int which) {
  const std::string value = number(device, which);
  if (value == "0") {
    return "no";
  }
  return value == "1" ? "yes" : value;
}

/// Returns the default peer of a GPU: the next GPU whose memory it can access directly, else the
/// next.
int usual_peer(int index, int count) {
  for (int step = 1; step < count; ++step) {
    const int other = (index + step) % count;
    if (can_reach(device_at(index), device_at(other))) {
      return other;
    }
  }
  return (index + 1) % count;
}

/// Adds properties that NVML and NCCL know: links to other GPUs, reasons for a low clock, versions.
void describe_further(cuda::DeviceId device, DeviceInfo& info) {
  if (const auto links = cuda::nvlink_of(pci_address_of(device), api().library)) {
    info.properties.emplace_back("nvlink_links", std::to_string(links->links));
    info.properties.emplace_back("nvlink_Bps",
                                 std::to_string(std::llround(links->bytes_per_second_one_way)));
  }
  if (const auto condition = cuda::condition_of(pci_address_of(device), api().library)) {
    info.properties.emplace_back("slowed_by", condition->slowed_by);
    info.properties.emplace_back("pcie_replays", condition->replays);
  }
  try {
    info.properties.emplace_back("nccl_version", cuda::nccl::version());
    info.properties.emplace_back("nccl_library", cuda::nccl::api().library);
  } catch (const BackendError& error) {
    info.lacks.emplace_back("channel=nccl", error.what());
  }
}

DeviceInfo describe(int index, int count) {
  const cuda::DeviceId device = device_at(index);
  const auto attribute_text = [device](int which) { return number(device, which); };
  const auto flag = [device](int which) { return yes_or_no(device, which); };
  constexpr std::array compute_modes = {"default", "exclusive thread", "prohibited",
                                        "exclusive process"};
  const auto mode = static_cast<std::size_t>(attribute(device, cuda::compute_mode));
  std::size_t bytes = 0;
  cuda::check(api().cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  DeviceInfo info = {
      .id = std::to_string(index),
      .name = name_of(device),
      .platform = "NVIDIA CUDA " + cuda_version(),
      .api = "cuda",
      .max_buffer_bytes = bytes,
      .memory_bytes = bytes,
      .memory_kinds = cuda::HostEnd::kinds(device),
      .operations = cuda::operations(device, count > 1),
      .properties = {
          {"type", "gpu"},
          {"driver_version", kernel_driver()},
          {"cuda_version", cuda_version()},
          {"compute_capability", attribute_text(cuda::compute_capability_major) + "." +
                                     attribute_text(cuda::compute_capability_minor)},
          {"uuid", uuid_of(device)},
          {"pci_address", pci_address_of(device)},
          {"multiprocessors", attribute_text(cuda::multiprocessors)},
          {"clock_kHz", attribute_text(cuda::clock_kilohertz)},
          {"memory_clock_kHz", attribute_text(cuda::memory_clock_kilohertz)},
          {"memory_bus_bits", attribute_text(cuda::memory_bus_bits)},
          {"l2_cache_bytes", attribute_text(cuda::l2_cache_bytes)},
          {"copy_engines", attribute_text(cuda::copy_engines)},
          {"ecc", flag(cuda::ecc_enabled)},
          {"integrated", flag(cuda::integrated)},
          {"compute_mode", mode < compute_modes.size() ? compute_modes[mode] : "unknown"},
          {"unified_addressing", flag(cuda::unified_addressing)},
          {"can_map_host_memory", flag(cuda::can_map_host_memory)},
          {"pageable_memory_access", flag(cuda::pageable_memory_access)},
          {"managed_memory", flag(cuda::managed_memory)},
          {"concurrent_managed_access", flag(cuda::concurrent_managed_access)},
          {"library", api().library}}};
  if (attribute(device, cuda::can_map_host_memory) == 0) {
    info.lacks.emplace_back("target=host", "this GPU maps no host memory");
    info.lacks.emplace_back("channel=cuda", "this GPU maps no host memory");
  }
  describe_further(device, info);
  info.offloads = cuda::offloads(device);
  std::ranges::move(cuda::joint_operations(device), std::back_inserter(info.operations));
  if (count > 1) {
    const int peer = usual_peer(index, count);
    info.properties.emplace_back("peer", std::to_string(peer));
    info.properties.emplace_back("peer_access", can_reach(device, device_at(peer)) ? "yes" : "no");
  }
  return info;
}

/// Returns the index that the text's decimal digits give, if it is below `count`, else -1.
int index_of(const std::string& text, int count) {
  int index = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, index);
  return error == std::errc{} && rest == end && index < count ? std::max(index, -1) : -1;
}

/// Lets one GPU access the other's memory without the host, if the hardware can.
void enable_access(const cuda::Session& from, const cuda::Session& to) {
  if (can_reach(from.device(), to.device())) {
    from.make_current();
    cuda::allow_access(to.context());
  }
}

class CudaDevice final : public Device {
 public:
  CudaDevice(DeviceInfo info, int index, int peer)
      : info_(std::move(info)), session_(device_at(index)), peer_index_(peer) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, "CUDA"));
    if (spec.name.starts_with("peer_")) {
      open_peer();
    }
    return cuda::make_operation({session_, peer_.get()}, spec);
  }
  std::unique_ptr<JointOperation> join(const OperationSpec& spec,
                                       Communicator& communicator) override {
    static_cast<void>(find_operation(info_.operations, spec, "CUDA", true));
    auto operation = cuda::make_joint(session_, spec, communicator);
    return operation ? std::move(operation) : Device::join(spec, communicator);
  }
  std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes) override {
    return cuda::make_staging(session_, memory, bytes);
  }

 private:
  /// Opens the peer GPU at the first operation that needs it: its context takes memory and time
  /// there.
  void open_peer() {
    if (!peer_ && peer_index_ >= 0) {
      auto peer = std::make_unique<cuda::Session>(device_at(peer_index_));
      enable_access(*peer, session_);
      enable_access(session_, *peer);
      peer_ = std::move(peer);
    }
  }

  DeviceInfo info_;
  cuda::Session session_;
  int peer_index_;
  std::unique_ptr<cuda::Session> peer_;
};

class CudaBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    const int count = device_count();
    std::vector<DeviceInfo> found;
    found.reserve(static_cast<std::size_t>(count));
    for (int index = 0; index < count; ++index) {
      found.push_back(describe(index, count));
    }
    return found;
  }

  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    check_options(options, {"peer"});
    const int count = device_count();
    const int index = index_of(id, count);
    if (index < 0) {
      throw UsageError("CUDA has no device '" + id + "'");
    }
    int peer = count > 1 ? usual_peer(index, count) : -1;
    if (const auto named = options.find("peer"); named != options.end()) {
      peer = index_of(named->second, count);
      if (peer < 0 || peer == index) {
        throw UsageError("peer=" + named->second + " is no other GPU; there are " +
                         std::to_string(count) + ", counted from 0");
      }
    }
    return std::make_unique<CudaDevice>(describe(index, count), index, peer);
  }

  std::unique_ptr<Offload> offload(const std::string& id, const Options& /*options*/,
                                   const OperationSpec& spec) override {
    return cuda::make_offload(spec, [id] {
      const int index = index_of(id, device_count());
      if (index < 0) {
        throw UsageError("CUDA has no device '" + id + "'");
      }
      return device_at(index);
    });
  }
};

}  // namespace
}  // namespace isthmus

ISTHMUS_BACKEND(isthmus::CudaBackend)

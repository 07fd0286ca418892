// Any OpenCL device, through the ICD loader found at run time.
#include <array>
#include <cstdio>

#include "operations.hpp"

namespace isthmus {
namespace {

using cl::api;

std::vector<cl::Platform> platforms() {
  cl::Uint count = 0;
  const cl::Int code = api().clGetPlatformIDs(0, nullptr, &count);
  if (code == cl::platform_not_found_khr || count == 0) {
    return {};
  }
  cl::check(code, "clGetPlatformIDs");
  std::vector<cl::Platform> found(count);
  cl::check(api().clGetPlatformIDs(count, found.data(), nullptr), "clGetPlatformIDs");
  return found;
}

std::vector<cl::DeviceId> devices_of(cl::Platform platform) {
  cl::Uint count = 0;
  const cl::Int code = api().clGetDeviceIDs(platform, cl::device_type_all, 0, nullptr, &count);
  if (code == cl::device_not_found || count == 0) {
    return {};
  }
  cl::check(code, "clGetDeviceIDs");
  std::vector<cl::DeviceId> found(count);
  cl::check(api().clGetDeviceIDs(platform, cl::device_type_all, count, found.data(), nullptr),
            "clGetDeviceIDs");
  return found;
}

std::string type_name(cl::Bitfield type) {
  if ((type & cl::device_type_gpu) != 0) {
    return "gpu";
  }
  if ((type & cl::device_type_accelerator) != 0) {
    return "accelerator";
  }
  return (type & cl::device_type_cpu) != 0 ? "cpu" : "custom";
}

/// PCI address as sysfs writes it; empty where the runtime does not tell.
std::string pci_address(cl::DeviceId device) {
  cl::PciBusInfo bus{};
  if (api().clGetDeviceInfo(device, cl::device_pci_bus_info_khr, sizeof(bus), &bus, nullptr) !=
      cl::success) {
    return {};
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", bus.domain, bus.bus, bus.device,
                bus.function);
  return text.data();
}

DeviceInfo describe(cl::Platform platform, cl::DeviceId device, const std::string& id) {
  const auto type = cl::value_info<cl::Bitfield>(device, cl::device_type);
  const bool compiles = cl::value_info<cl::Uint>(device, cl::device_compiler_available) != 0;
  const bool unified = cl::value_info<cl::Uint>(device, cl::device_host_unified_memory) != 0;
  std::vector<std::string> kinds = HostBuffer::kinds();
  kinds.emplace_back("alloc_host");
  return {.id = id,
          .name = cl::text_info(device, cl::device_name),
          .platform = cl::text_info(platform, cl::platform_name),
          .api = "opencl",
          .max_buffer_bytes = cl::value_info<cl::Ulong>(device, cl::device_max_mem_alloc_size),
          .memory_bytes = cl::value_info<cl::Ulong>(device, cl::device_global_mem_size),
          .memory_kinds = std::move(kinds),
          .operations = cl::operations(compiles, type_name(type) == "cpu" ? "cpu" : "dma"),
          .properties = {{"type", type_name(type)},
                         {"vendor", cl::text_info(device, cl::device_vendor)},
                         {"platform_version", cl::text_info(platform, cl::platform_version)},
                         {"device_version", cl::text_info(device, cl::device_version)},
                         {"driver_version", cl::text_info(device, cl::driver_version)},
                         {"compute_units", std::to_string(cl::value_info<cl::Uint>(
                                               device, cl::device_max_compute_units))},
                         {"host_unified_memory", unified ? "yes" : "no"},
                         {"compiler", compiles ? "yes" : "no"},
                         {"pci_address", pci_address(device)},
                         {"loader", api().loader}}};
}

class OpenclDevice final : public Device {
 public:
  OpenclDevice(DeviceInfo info, cl::DeviceId device) : info_(std::move(info)), session_(device) {}
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    return cl::make_operation(session_, spec);
  }

 private:
  DeviceInfo info_;
  cl::Session session_;
};

class OpenclBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> found;
    each_device([&found](cl::Platform platform, cl::DeviceId device, const std::string& id) {
      if (cl::value_info<cl::Uint>(device, cl::device_available) != 0) {
        found.push_back(describe(platform, device, id));
      }
    });
    return found;
  }

  std::unique_ptr<Device> open(const std::string& wanted, const Options& options) override {
    check_options(options, {});
    std::unique_ptr<Device> opened;
    each_device([&](cl::Platform platform, cl::DeviceId device, const std::string& id) {
      if (id == wanted) {
        opened = std::make_unique<OpenclDevice>(describe(platform, device, id), device);
      }
    });
    if (!opened) {
      throw UsageError("OpenCL has no device '" + wanted + "'");
    }
    return opened;
  }

 private:
  /// Ids are "platform:device" in the loader's order.
  template <class Visit>
  static void each_device(const Visit& visit) {
    std::size_t platform_index = 0;
    for (const cl::Platform platform : platforms()) {
      std::size_t device_index = 0;
      for (const cl::DeviceId device : devices_of(platform)) {
        visit(platform, device,
              std::to_string(platform_index) + ":" + std::to_string(device_index++));
      }
      ++platform_index;
    }
  }
};

}  // namespace
}  // namespace isthmus

ISTHMUS_BACKEND(isthmus::OpenclBackend)

// The backend `opencl`: any OpenCL device, through the ICD loader, which is loaded at run time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>

#include "binary_kernels.hpp"
#include "channels.hpp"
#include "isthmus/emulated_card.hpp"
#include "isthmus/sweep.hpp"
#include "kernel_memory.hpp"
#include "kernel_operations.hpp"
#include "offload.hpp"
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

/// Returns the PCI address as sysfs writes it; empty if unknown.
std::string pci_address(cl::DeviceId device) {
  cl::PciBusInfo bus{};
  const std::string extensions = cl::text_info(device, cl::device_extensions);
  if (extensions.find("cl_khr_pci_bus_info") == std::string::npos ||
      api().clGetDeviceInfo(device, cl::device_pci_bus_info_khr, sizeof(bus), &bus, nullptr) !=
          cl::success) {
    return {};
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", bus.domain, bus.bus, bus.device,
                bus.function);
  return text.data();
}

/// Default number of sweeps: the 1024 of AMD's published example take seconds for large buffers.
constexpr unsigned usual_sweeps = 16;

/// Returns whether emulated cards are below this platform: only AMD's can have them.
bool on_emulated_card(cl::Platform platform) {
  return emulated_card::present() && cl::text_info(platform, cl::platform_name) == "Xilinx";
}

bool compiles(cl::DeviceId device) {
  return cl::value_info<cl::Uint>(device, cl::device_compiler_available) != 0;
}

/// Returns whether any binary may be loaded without the user's permission: the environment says so
/// if there is no hardware.
bool may_program() {
  const char* word = std::getenv("ISTHMUS_MAY_PROGRAM");
  return word != nullptr && std::string_view(word) == "yes";
}
/// Returns the binary to load if the user names none; empty if there is none, or the device is
/// hardware.
std::string default_binary() {
  const char* file = std::getenv("ISTHMUS_DEFAULT_BINARY");
  return file != nullptr && may_program() ? file : "";
}

/// Returns the binary to load on a device. Throws UsageError if the user has not allowed it.
std::string chosen_binary(const Options& options) {
  const auto named = options.find("xclbin");
  if (named == options.end()) {
    if (default_binary().empty()) {
      throw BackendError("this device compiles no source: name its binary with --xclbin FILE");
    }
    return default_binary();
  }
  if (named->second == "loaded") {
    throw UsageError("OpenCL cannot use what is loaded already: name the file with --xclbin");
  }
  const auto allowed = options.find("allow_program");
  if (!may_program() && (allowed == options.end() || allowed->second != "yes")) {
    throw UsageError("OpenCL programs the device with its binary: that needs --allow-program");
  }
  return named->second;
}

/// Describes the operations of a device with other ranks.
std::vector<OperationInfo> exchanges(cl::DeviceId device, cl::Session* session,
                                     const std::string& initiator) {
  std::vector<OperationInfo> known = {staged_exchange(initiator)};
  if (cl::emulates_channels(device) || (session != nullptr && cl::has_channels(*session))) {
    known.push_back(cl::channel_exchange(compiles(device)));
  }
  return known;
}

/// Describes a device. `session` is null unless the device is open: a device that compiles then has
/// all kernels, any other none.
DeviceInfo describe(cl::Platform platform, cl::DeviceId device, const std::string& id,
                    cl::Session* session) {
  const auto has_kernel = [&](const char* name) {
    return compiles(device) || (session != nullptr && session->has_kernel(name));
  };
  const std::string name = cl::text_info(device, cl::device_name);
  const auto largest = cl::value_info<cl::Ulong>(device, cl::device_max_mem_alloc_size);
  const auto memory = cl::value_info<cl::Ulong>(device, cl::device_global_mem_size);
  const auto type = cl::value_info<cl::Bitfield>(device, cl::device_type);
  const bool unified = cl::value_info<cl::Uint>(device, cl::device_host_unified_memory) != 0;
  std::vector<std::string> kinds = HostBuffer::kinds();
  kinds.emplace_back("alloc_host");
  const std::string initiator = type_name(type) == "cpu" ? "cpu" : "dma";
  std::vector<OperationInfo> known = cl::operations(has_kernel, initiator);
  std::vector<std::pair<std::string, std::string>> lacks;
  if (compiles(device)) {
    const std::vector<std::string> shared = cl::shared_kinds(device);
    std::ranges::move(bandwidth_kernels("device", {"device"}, "board", usual_sweeps),
                      std::back_inserter(known));
    if (!shared.empty()) {
      std::ranges::move(bandwidth_kernels("host", shared, "board", usual_sweeps),
                        std::back_inserter(known));
    } else {
      lacks.emplace_back("target=host",
                         "its runtime shares no memory with kernels (neither fine-grained SVM nor "
                         "unified memory); a vendor's own API may");
    }
  }
  if (session != nullptr && session->has_binary()) {
    std::ranges::move(
        cl::sweep_operations(*session, on_emulated_card(platform) ? "model" : "board"),
        std::back_inserter(known));
    lacks = cl::unreached(known);
  }
  DeviceInfo info{
      .id = id,
      .name = name.empty() ? "device " + id : name,
      .platform = cl::text_info(platform, cl::platform_name),
      .api = "opencl",
      .max_buffer_bytes = largest,
      .memory_bytes = memory != 0 ? memory : largest,
      .memory_kinds = std::move(kinds),
      .operations = std::move(known),
      .properties = {{"type", type_name(type)},
                     {"vendor", cl::text_info(device, cl::device_vendor)},
                     {"platform_version", cl::text_info(platform, cl::platform_version)},
                     {"device_version", cl::text_info(device, cl::device_version)},
                     {"driver_version", cl::text_info(device, cl::driver_version)},
                     {"compute_units", std::to_string(cl::value_info<cl::Uint>(
                                           device, cl::device_max_compute_units))},
                     {"host_unified_memory", unified ? "yes" : "no"},
                     {"compiler", compiles(device) ? "yes" : "no"},
                     {"keeps_data", session == nullptr || session->keeps_data() ? "yes" : "no"},
                     {"pci_address", pci_address(device)},
                     {"loader", api().loader}},
      .lacks = std::move(lacks)};
  if (has_kernel(vadd_kernel)) {
    info.lacks.emplace_back("memory=p2p",
                            "not supported: needs AMD's XCL_MEM_EXT_P2P_BUFFER, which is untested");
    info.offloads =
        cl::offloads(cl::shares_pointers(device) && (session == nullptr || session->shares()));
  }
  if (on_emulated_card(platform)) {
    emulated_card::describe(info);
    // Isthmus runs without the virtual clock, so the card executes both transfers of a call in
    // turn: `bidirectional` would take twice as long as it should.
    std::erase_if(info.operations,
                  [](const OperationInfo& one) { return one.name == "bidirectional"; });
  } else {
    // Exchanges do not read an emulated card's clock: the host's time alone would mislead.
    std::ranges::move(exchanges(device, session, initiator), std::back_inserter(info.operations));
  }
  return info;
}

class OpenclDevice final : public Device {
 public:
  OpenclDevice(cl::Platform platform, cl::DeviceId device, const std::string& id,
               const Options& options)
      : session_(compiles(device) ? cl::Session(device)
                                  : cl::Session(device, chosen_binary(options))),
        info_(describe(platform, device, id, &session_)) {}
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, "OpenCL"));
    auto operation = cl::make_operation(session_, spec);
    return info_.clock == ClockDomain::simulated ? emulated_card::timed(std::move(operation))
                                                 : std::move(operation);
  }
  std::unique_ptr<JointOperation> join(const OperationSpec& spec,
                                       Communicator& communicator) override {
    const OperationInfo& found = find_operation(info_.operations, spec, "OpenCL", true);
    return cl::is_channel_exchange(found)
               ? cl::make_channel_exchange(session_, session_.has_binary() ? nullptr : &programs_,
                                           spec, communicator)
               : Device::join(spec, communicator);
  }
  std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes) override {
    return cl::make_staging(session_, memory, bytes);
  }

 private:
  cl::Session session_;
  cl::ChannelPrograms programs_;
  DeviceInfo info_;
};

class OpenclBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> found;
    each_device([&found](cl::Platform platform, cl::DeviceId device, const std::string& id) {
      // A runtime that needs binaries may report a device as unavailable until a context has it.
      if (compiles(device) && cl::value_info<cl::Uint>(device, cl::device_available) == 0) {
        return;
      }
      std::optional<cl::Session> session;
      if (!compiles(device) && !default_binary().empty()) {
        try {
          session.emplace(device, default_binary());
        } catch (const BackendError&) {
          session.reset();  // opening the device reports the error; other devices are listed
        }
      }
      found.push_back(describe(platform, device, id, session ? &*session : nullptr));
    });
    return found;
  }

  std::unique_ptr<Device> open(const std::string& wanted, const Options& options) override {
    std::unique_ptr<Device> opened;
    each_device([&](cl::Platform platform, cl::DeviceId device, const std::string& id) {
      if (id == wanted) {
        check_options(options, compiles(device)
                                   ? std::vector<std::string>{}
                                   : std::vector<std::string>{"xclbin", "allow_program"});
        opened = std::make_unique<OpenclDevice>(platform, device, id, options);
      }
    });
    if (!opened) {
      throw UsageError("OpenCL has no device '" + wanted + "'");
    }
    return opened;
  }

  std::unique_ptr<Offload> offload(const std::string& wanted, const Options& options,
                                   const OperationSpec& spec) override {
    return emulated_card::timed(cl::make_offload(spec, [wanted, options] {
      cl::Target target;
      each_device([&](cl::Platform, cl::DeviceId device, const std::string& id) {
        if (id == wanted) {
          target = {device, compiles(device) ? "" : chosen_binary(options)};
        }
      });
      if (target.device == nullptr) {
        throw UsageError("OpenCL has no device '" + wanted + "'");
      }
      return target;
    }));
  }

 private:
  /// Calls `visit` for each device. Ids are "platform:device", numbers in the ICD loader's order.
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

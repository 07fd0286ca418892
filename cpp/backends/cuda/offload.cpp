#include "offload.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ptx.hpp"

namespace isthmus::cuda {
namespace {

constexpr unsigned add_threads = 256;
constexpr const char* registered = "registered";

/// Returns whether kernels access this kind of memory directly, so that nothing is transferred.
bool kernels_access(const std::string& kind) { return kind == "mapped" || kind == "managed"; }

/// The three vectors at the host's and at the device's end.
class Vectors3 {
 public:
  /// Executes `allocate` and `populate`, and `map` if the driver locks memory later.
  Vectors3(const Session& session, const Offload& offload, Phases& phases, std::uint64_t seed)
      : stream_(session.stream()), bytes_(offload.bytes()) {
    const std::string& kind = offload.memory();
    phases("allocate", [&] {
      if (kind == registered || HostBuffer::knows(kind)) {
        own_.emplace(kind == registered ? "aligned" : kind, offload.elements(),
                     offload.relative_offset());
        host_ = own_->get();
      } else {
        for (auto& end : ends_) {
          end = std::make_unique<HostEnd>(kind, bytes_);
        }
        const auto at = [this](std::size_t i) {
          return reinterpret_cast<Element*>(ends_.at(i)->data());
        };
        host_ = {.a = at(0), .b = at(1), .c = at(2), .elements = offload.elements()};
      }
      for (std::size_t i = 0; i < device_.size(); ++i) {
        if (kind == "managed") {
          address_.at(i) = reinterpret_cast<std::uintptr_t>(ends_.at(i)->data());
        } else {
          address_.at(i) = kind == "mapped" ? ends_.at(i)->device_address() : make(session, i);
        }
      }
    });
    phases("populate", [&] { populate(host_, seed); });
    if (kind == registered) {
      phases("map", [&] {
        for (Element* vector : {host_.a, host_.b, host_.c}) {
          check(api().cuMemHostRegister(vector, bytes_, 0), "cuMemHostRegister");
          locked_.push_back(vector);
        }
      });
    }
  }
  ~Vectors3() {
    api().cuStreamSynchronize(stream_);  // copies that still run use this memory
    for (void* vector : locked_) {
      api().cuMemHostUnregister(vector);
    }
  }
  Vectors3(const Vectors3&) = delete;
  Vectors3& operator=(const Vectors3&) = delete;

  [[nodiscard]] const Vectors& host() const { return host_; }
  [[nodiscard]] std::array<Address, 3>& addresses() { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Address make(const Session& session, std::size_t i) {
    device_.at(i) = std::make_unique<DeviceMemory>(session, bytes_);
    return device_.at(i)->address();
  }

  Stream stream_;
  std::size_t bytes_;
  Vectors host_;
  std::optional<HostVectors> own_;
  std::array<std::unique_ptr<HostEnd>, 3> ends_;
  std::array<std::unique_ptr<DeviceMemory>, 3> device_;
  std::array<Address, 3> address_{};
  std::vector<void*> locked_;
};

/// Reads a byte of each page, so that managed pages migrate; `volatile` keeps the reads.
void touch_pages(const Element* data, std::size_t bytes) {
  const auto* const at = reinterpret_cast<const volatile char*>(data);
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes) {
    static_cast<void>(at[offset]);
  }
}

class CudaOffload final : public Offload {
 public:
  CudaOffload(const OperationSpec& spec, std::function<DeviceId()> choose)
      : Offload(spec), choose_(std::move(choose)) {}

  void prepare(Phases& phases) override {
    phases("initialise", [&] { session_.emplace(choose_()); });
    phases("program_device", [&] {
      module_ = load_module(offload_ptx);
      check(api().cuModuleGetFunction(&kernel_, module_.get(), "vadd"), "cuModuleGetFunction");
    });
  }

  void run(Phases& phases, std::uint64_t seed) override {
    vectors_ = std::make_unique<Vectors3>(session_.value(), *this, phases, seed);
    const Stream stream = session_.value().stream();
    const auto& [a, b, c] = vectors_->addresses();
    const Vectors& host = vectors_->host();
    const auto settle = [stream] {
      check(api().cuStreamSynchronize(stream), "cuStreamSynchronize");
    };
    if (!kernels_access(memory())) {
      phases("migrate_to_device", [&] {
        check(api().cuMemcpyHtoDAsync(a, host.a, bytes(), stream), "cuMemcpyHtoDAsync");
        check(api().cuMemcpyHtoDAsync(b, host.b, bytes(), stream), "cuMemcpyHtoDAsync");
      });
      phases("migrate_to_device_wait", settle);
    }
    auto size = static_cast<unsigned>(elements());
    std::array<void*, 4> arguments{};
    phases("set_arguments", [&] {
      auto& addresses = vectors_->addresses();
      arguments = {addresses.data(), addresses.data() + 1, addresses.data() + 2, &size};
    });
    phases("kernel_enqueue", [&] {
      const unsigned blocks = (size + add_threads - 1) / add_threads;
      check(api().cuLaunchKernel(kernel_, blocks, 1, 1, add_threads, 1, 1, 0, stream,
                                 arguments.data(), nullptr),
            "cuLaunchKernel");
    });
    phases("kernel_run", settle);
    if (!kernels_access(memory())) {
      phases("read_back", [&] {
        check(api().cuMemcpyDtoHAsync(host.c, c, bytes(), stream), "cuMemcpyDtoHAsync");
        settle();
      });
    } else if (memory() == "managed") {
      phases("read_back", [&] { touch_pages(host.c, bytes()); });
    }
  }

  std::optional<Vectors> result() override { return vectors_->host(); }
  void release() override { vectors_.reset(); }

 private:
  std::function<DeviceId()> choose_;
  std::optional<Session> session_;
  Owned<Module> module_;
  Function kernel_ = nullptr;
  std::unique_ptr<Vectors3> vectors_;
};

OperationInfo without(OperationInfo info, const std::vector<std::string>& phases,
                      std::string kind) {
  std::erase_if(info.parts, [&](const PartInfo& part) {
    return std::ranges::find(phases, part.name) != phases.end();
  });
  info.memory_kinds = {std::move(kind)};
  return info;
}

}  // namespace

std::vector<OperationInfo> offloads(DeviceId device) {
  OperationInfo copied = user_offload(device_phases(false));
  copied.axes.push_back({.name = "handover", .usual = "copy", .values = {"copy"}});
  OperationInfo own = offload_of(device_phases(false));
  own.memory_kinds = {"pinned", "write_combined"};
  std::vector<OperationInfo> all = {copied, own};
  if (attribute(device, host_register_supported) != 0) {
    all.push_back(without(offload_of(device_phases(true)), {}, registered));
  }
  const std::vector<std::string> sent = {"migrate_to_device", "migrate_to_device_wait"};
  const OperationInfo in_place = without(offload_of(device_phases(false)), sent, "managed");
  if (attribute(device, can_map_host_memory) != 0) {
    all.push_back(without(in_place, {"read_back"}, "mapped"));
  }
  if (attribute(device, managed_memory) != 0) {
    all.push_back(in_place);
  }
  return all;
}

std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<DeviceId()> choose) {
  return std::make_unique<CudaOffload>(spec, std::move(choose));
}

}  // namespace isthmus::cuda

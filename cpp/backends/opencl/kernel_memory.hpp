// Memory that kernels access: the device's own, and the host's if the runtime shares it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objects.hpp"

namespace isthmus::cl {

/// Kinds of host memory that this device's kernels may access without a copy: `svm` if it has
/// fine-grained buffers (OpenCL 2.0), `alloc_host` if it reports that its memory is the host's.
std::vector<std::string> shared_kinds(DeviceId device);

/// Memory of one of those kinds, or `device`.
///
/// Host memory is checked through the host's pointer, without a command in between, so that the
/// verification would notice a runtime that copies. For that, `alloc_host` stays mapped while
/// kernels run, which OpenCL leaves undefined for memory that is not shared.
class KernelMemory {
 public:
  /// Throws UsageError for another kind, BackendError if there is no such memory.
  KernelMemory(const Session& session, const std::string& kind, std::size_t bytes);

  [[nodiscard]] Memory& memory() const;
  void set_argument(Kernel kernel, Uint index) const;

 private:
  struct FreeShared {
    Context context;
    void operator()(void* shared) const { api().clSVMFree(context, shared); }
  };

  std::unique_ptr<DeviceMemory> device_;
  std::unique_ptr<HostEnd> mapped_;
  std::unique_ptr<void, FreeShared> shared_;
  std::unique_ptr<HostView> view_;
};

}  // namespace isthmus::cl

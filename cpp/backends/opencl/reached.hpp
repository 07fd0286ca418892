// Memory that kernels reach: the device's own, and the host's where the runtime shares it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objects.hpp"

namespace isthmus::cl {

/// Kinds of host memory that this device's kernels may reach without a copy: `svm` where it has
/// fine-grained buffers (OpenCL 2.0), `alloc_host` where it says that its memory is the host's.
std::vector<std::string> shared_kinds(DeviceId device);

/// One of those kinds, or `device`.
///
/// Host memory is looked at through the host's own pointer, with no command between: a runtime that
/// copied would be found out by the verification. `alloc_host` stays mapped for that while kernels
/// run, which OpenCL leaves undefined for memory that is not shared.
class Reached {
 public:
  /// Throws UsageError for another kind, BackendError where there is no such memory.
  Reached(const Session& session, const std::string& kind, std::size_t bytes);

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

// Memory that kernels access: the device's, or the host's if the runtime shares it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objects.hpp"

namespace isthmus::cl {

/// Returns the kinds of host memory that kernels may access without a copy. `svm` needs
/// fine-grained buffers (OpenCL 2.0), `alloc_host` a device that reports that its memory is the
/// host's.
std::vector<std::string> shared_kinds(DeviceId device);

/// A buffer in memory of one of these kinds, or of kind `device`.
///
/// The host reads and writes shared memory through its pointer and not by commands, so that the
/// verification notices a runtime that copies. `alloc_host` therefore stays mapped while kernels
/// run, which OpenCL leaves undefined for memory that is not shared.
class KernelMemory {
 public:
  /// Allocates it. Throws UsageError for an unknown kind, BackendError if there is no such memory.
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

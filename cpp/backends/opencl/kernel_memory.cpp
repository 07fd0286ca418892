#include "kernel_memory.hpp"

#include <algorithm>

#include "isthmus/backend.hpp"

namespace isthmus::cl {

std::vector<std::string> shared_kinds(DeviceId device) {
  std::vector<std::string> kinds;
  Bitfield svm = 0;
  const bool answers =
      api().clGetDeviceInfo(device, device_svm_capabilities, sizeof(svm), &svm, nullptr) == success;
  if (answers && (svm & svm_fine_grain_buffer) != 0 && api().clSVMAlloc != nullptr &&
      api().clSVMFree != nullptr && api().clSetKernelArgSVMPointer != nullptr) {
    kinds.emplace_back("svm");
  }
  if (value_info<Uint>(device, device_host_unified_memory) != 0) {
    kinds.emplace_back("alloc_host");
  }
  return kinds;
}

KernelMemory::KernelMemory(const Session& session, const std::string& kind, std::size_t bytes)
    : shared_(nullptr, FreeShared{session.context()}) {
  const std::vector<std::string> host = shared_kinds(session.device());
  if (kind == "device") {
    device_ = std::make_unique<DeviceMemory>(session, bytes);
  } else if (std::ranges::find(host, kind) == host.end()) {
    throw UsageError("kernels of this device reach no memory of kind '" + kind + "'");
  } else if (kind == "alloc_host") {
    mapped_ = std::make_unique<HostEnd>(session, kind, bytes);
  } else {
    // OpenCL aligns SVM only to the widest type: one page more makes a whole page possible.
    std::size_t room = bytes + page_bytes;
    shared_.reset(
        api().clSVMAlloc(session.context(), mem_read_write | mem_svm_fine_grain_buffer, room, 0));
    if (!shared_) {
      throw BackendError("clSVMAlloc: no memory");
    }
    void* at = shared_.get();
    view_ = std::make_unique<HostView>(
        static_cast<std::byte*>(std::align(page_bytes, bytes, at, room)), bytes);
  }
}

Memory& KernelMemory::memory() const {
  if (device_) {
    return *device_;
  }
  return mapped_ ? mapped_->memory() : *view_;
}

void KernelMemory::set_argument(Kernel kernel, Uint index) const {
  if (shared_) {
    check(api().clSetKernelArgSVMPointer(kernel, index, view_->data()), "clSetKernelArgSVMPointer");
    return;
  }
  const Mem handle = device_ ? device_->handle() : mapped_->buffer();
  check(api().clSetKernelArg(kernel, index, sizeof(handle), &handle), "clSetKernelArg");
}

}  // namespace isthmus::cl

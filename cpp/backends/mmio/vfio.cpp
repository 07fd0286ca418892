#include "vfio.hpp"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "isthmus/backend.hpp"

namespace isthmus::mmio {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw BackendError("VFIO: " + what + ": " + std::strerror(errno));
}

std::string group_of(const Function& function) {
  std::error_code none;
  const auto link = std::filesystem::read_symlink(function.folder() + "/iommu_group", none);
  if (none) {
    throw BackendError(function.address() +
                       " has no IOMMU group: VFIO needs an IOMMU (intel_iommu=on or its like)");
  }
  return "/dev/vfio/" + link.filename().string();
}

}  // namespace

bool has_vfio(const Function& function) { return function.driver() == "vfio-pci"; }

VfioRegion::VfioRegion(const Function& function, unsigned bar)
    : container_("/dev/vfio/vfio", O_RDWR), group_(group_of(function), O_RDWR) {
  vfio_group_status status = {};
  status.argsz = sizeof status;
  if (ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &status) != 0) {
    fail(group_.path());
  }
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
    throw BackendError(group_.path() + ": give vfio-pci all devices of that IOMMU group");
  }
  int container = container_.get();
  if (ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0 ||
      ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) {
    fail(group_.path());
  }
  device_ = ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, function.address().c_str());
  vfio_region_info region = {};
  region.argsz = sizeof region;
  region.index = VFIO_PCI_BAR0_REGION_INDEX + bar;
  if (device_ < 0 || ioctl(device_, VFIO_DEVICE_GET_REGION_INFO, &region) != 0) {
    const int error = errno;
    close(device_);
    errno = error;
    fail(function.address());
  }
  begin_ = region.offset;
}

VfioRegion::~VfioRegion() { close(device_); }

void VfioRegion::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  if (pread(device_, to, bytes, static_cast<off_t>(begin_ + offset)) !=
      static_cast<ssize_t>(bytes)) {
    fail("read");
  }
}

void VfioRegion::write(std::uint64_t offset, const void* from, std::size_t bytes) const {
  if (pwrite(device_, from, bytes, static_cast<off_t>(begin_ + offset)) !=
      static_cast<ssize_t>(bytes)) {
    fail("write");
  }
}

}  // namespace isthmus::mmio

// The channel through the host: device, host, ranks, host, device. Any device that copies has it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus {

/// Memory of a device with as much host memory beside it, and copies of all of it: by default
/// those of the device's memory, which block. Others are begun, so that several can be under way.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  virtual ~Staging() = default;

  [[nodiscard]] virtual std::span<std::byte> host() = 0;
  [[nodiscard]] virtual Memory& device() = 0;
  virtual void to_host() { device().get(0, host()); }
  virtual void to_device() { device().put(0, host()); }
  /// Returns when what was begun is complete.
  virtual void complete() {}
  /// Whether what is written comes back: false where nothing is behind the API.
  [[nodiscard]] virtual bool keeps_data() const { return true; }
};

/// Axis `channel` of an operation that knows only one.
AxisInfo channel_axis(const std::string& channel);

/// `exchange` over channel `staged`, for the table of a device that has `Device::stage`.
OperationInfo staged_exchange(const std::string& initiator);
std::unique_ptr<JointOperation> make_staged_exchange(Device& device, const OperationSpec& spec,
                                                     Communicator& communicator);

}  // namespace isthmus

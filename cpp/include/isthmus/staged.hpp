// Channel `staged` of exchanges: a message goes from a device to the host, to the other rank's host
// and to its device. It works for any device with copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus {

/// A buffer on a device, a staging buffer of equal size in host memory, and copies between them. By
/// default a copy blocks; a backend may only begin it, so that several copies run at once.
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
  /// Returns when all begun copies are complete.
  virtual void complete() {}
  /// Returns whether written data can be read back, which is false if the API has no device.
  [[nodiscard]] virtual bool keeps_data() const { return true; }
};

/// Returns the axis `channel` of an operation that has this channel alone.
AxisInfo channel_axis(const std::string& channel);

/// Describes `exchange` over channel `staged`, for devices that implement `Device::stage`.
OperationInfo staged_exchange(const std::string& initiator);
std::unique_ptr<JointOperation> make_staged_exchange(Device& device, const OperationSpec& spec,
                                                     Communicator& communicator);

}  // namespace isthmus

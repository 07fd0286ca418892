// The channel `staged`: from device to host, to the other rank's host, to its device; for any
// device with copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus {

/// A buffer on a device with a staging buffer of equal size in host memory, and copies between
/// them. By default copies block; an override may only begin them, so that several are in flight.
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
  /// Whether written data can be read back; false if the API has no device.
  [[nodiscard]] virtual bool keeps_data() const { return true; }
};

/// Axis `channel` of an operation with a single channel.
AxisInfo channel_axis(const std::string& channel);

/// Describes `exchange` over channel `staged`, for devices with `Device::stage`.
OperationInfo staged_exchange(const std::string& initiator);
std::unique_ptr<JointOperation> make_staged_exchange(Device& device, const OperationSpec& spec,
                                                     Communicator& communicator);

}  // namespace isthmus

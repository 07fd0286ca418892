// The ring over Intel's external channels, as in kernels/intel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Whether a device compiles kernels with channels, i.e. is an emulated card.
bool emulates_channels(DeviceId device);
/// Whether a device's binary has the kernels.
bool has_channels(const Session& session);

/// `exchange` over channel `intel`. A board's cables determine its ring; an emulated card sends to
/// itself.
OperationInfo channel_exchange(bool emulated);
bool is_channel_exchange(const OperationInfo& operation);

/// Programs of an emulated card, by the words that a channel holds.
using ChannelPrograms = std::map<std::uint64_t, Owned<Program>>;

/// `programs`: of a device that compiles; null for a device with the kernels in its binary.
std::unique_ptr<JointOperation> make_channel_exchange(Session& session, ChannelPrograms* programs,
                                                      const OperationSpec& spec,
                                                      Communicator& communicator);

}  // namespace isthmus::cl

// Exchanges over the external channels of Intel's FPGA cards, by the kernels of kernels/intel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Returns whether a device compiles kernels with channels, i.e. is an emulated FPGA card.
bool emulates_channels(DeviceId device);
/// Returns whether a device's binary has the kernels that exchange messages.
bool has_channels(const Session& session);

/// Describes `exchange` over channel `intel`. On boards the cables determine the ring; an emulated
/// card sends to itself.
OperationInfo channel_exchange(bool emulated);
bool is_channel_exchange(const OperationInfo& operation);

/// Programs of an emulated card, by the number of words that a channel holds.
using ChannelPrograms = std::map<std::uint64_t, Owned<Program>>;

/// Creates the exchange. `programs` keeps what an emulated card compiles; null for a board, whose
/// binary has the kernels.
std::unique_ptr<JointOperation> make_channel_exchange(Session& session, ChannelPrograms* programs,
                                                      const OperationSpec& spec,
                                                      Communicator& communicator);

}  // namespace isthmus::cl

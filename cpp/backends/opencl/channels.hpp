// The ring over Intel's external channels, as in kernels/intel.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cables.hpp"
#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Whether a device compiles kernels with channels, i.e. is an emulated card.
bool emulates_channels(DeviceId device);
/// Whether a device's binary has the kernels.
bool has_channels(const Session& session);

/// `exchange` over channel `intel`. A board's cables determine its ring.
OperationInfo channel_exchange(bool emulated);
bool is_channel_exchange(const OperationInfo& operation);

/// An emulated card's program with its cables.
struct CabledProgram {
  std::unique_ptr<Cables> cables;  ///< null within a card
  Owned<Program> program;
};
/// Programs of a device by name. They are kept, because the emulator never closes a channel's file.
using CabledPrograms = std::map<std::string, CabledProgram>;

/// `programs`: of a device that compiles; null for a device with the kernels in its binary.
std::unique_ptr<JointOperation> make_channel_exchange(Session& session, CabledPrograms* programs,
                                                      const OperationSpec& spec,
                                                      Communicator& communicator);

}  // namespace isthmus::cl

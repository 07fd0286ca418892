// The ring over Intel's external channels, as kernels/intel has it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cables.hpp"
#include "isthmus/joint.hpp"
#include "objects.hpp"

namespace isthmus::cl {

/// Whether a device compiles kernels with channels: an emulated card.
bool emulates_channels(DeviceId device);
/// Whether a device's binary has the kernels.
bool has_channels(const Session& session);

/// `exchange` over channel `intel`. A board's ring is as it is cabled.
OperationInfo channel_exchange(bool emulated);
bool is_channel_exchange(const OperationInfo& operation);

/// An emulated card's program with the cables that it is compiled for.
struct CabledProgram {
  std::unique_ptr<Cables> cables;  ///< none within a card
  Owned<Program> program;
};
/// Those of a device by their names. The emulator never closes a channel's file, so they are kept.
using CabledPrograms = std::map<std::string, CabledProgram>;

/// `programs`: of a device that compiles; null for one that has them in its binary.
std::unique_ptr<JointOperation> make_channel_exchange(Session& session, CabledPrograms* programs,
                                                      const OperationSpec& spec,
                                                      Communicator& communicator);

}  // namespace isthmus::cl

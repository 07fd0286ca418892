// For backends whose runtime has an emulated card behind it: what an operation takes there.
#pragma once

#include <memory>

#include "isthmus/backend.hpp"

namespace isthmus::card::process {

/// Whether this process's runtime has emulated cards: it says so in its environment.
bool emulated();

/// Says so of a device: its clock is simulated, and the software above it is real.
void describe_emulated(DeviceInfo& info);

/// The same operation, whose simulated time is what the card took meanwhile; itself where no card
/// is emulated. Throws BackendError where the card tells no time.
std::unique_ptr<Operation> on_emulated_card(std::unique_ptr<Operation> operation);

}  // namespace isthmus::card::process

// A thread beside the program's: it does what is due on a card while no thread of the program waits
// for the card, and tells of kernels that compute for long.
#pragma once

#include "isthmus/card/process/long_run.hpp"

namespace isthmus::shim {

/// Starts the thread, unless it runs. The child of a fork has no such thread, and starts its own.
void start_helper();

/// Tells of a kernel that computes for long, by the thread, and of one that crashes.
class WatchByHelper : public card::process::RunWatch {
 public:
  void begin(const std::string& instance, bool timed) override;
  bool end(bool timed) override;
};

}  // namespace isthmus::shim

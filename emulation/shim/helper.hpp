// The helper: a thread of the shim. It advances cards for which no thread of the program waits, and
// warns of kernels that compute for long.
#pragma once

#include "isthmus/card/process/long_run.hpp"

namespace isthmus::shim {

/// Starts the thread, unless it runs. The child of a fork has no such thread, and starts its own.
void start_helper();

/// Notes which kernel runs, so that the helper can warn of a long run, and name a kernel that
/// crashes.
class WatchByHelper : public card::process::RunWatch {
 public:
  void begin(const std::string& instance, bool timed) override;
  bool end(bool timed) override;
};

}  // namespace isthmus::shim

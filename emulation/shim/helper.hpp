// The helper, a thread of the shim. It advances cards for which no thread of the program waits, and
// warns of kernels that compute for long.
#pragma once

#include "isthmus/card/process/long_run.hpp"

namespace isthmus::shim {

/// Starts the helper's thread if it does not run. A fork's child has no such thread and starts one.
void start_helper();

/// Notes which kernel's function runs, so that the helper can warn if it runs for long, and a crash
/// report can name the kernel.
class WatchByHelper : public card::process::RunWatch {
 public:
  void begin(const std::string& instance, bool timed) override;
  bool end(bool timed) override;
};

}  // namespace isthmus::shim

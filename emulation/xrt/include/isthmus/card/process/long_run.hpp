// Warns of kernels whose function computes for long: such a kernel may never end.
#pragma once

#include <string>

namespace isthmus::card::process {

/// Wall time in seconds that a kernel's function may compute without a warning: our choice, so that
/// the user does not take a slow kernel for a hang.
inline constexpr unsigned long_run_seconds = 10;

/// Returns the text of the warning.
std::string long_run(const std::string& instance);

/// Watches runs of kernels' functions; the thread that runs the function calls it.
class RunWatch {
 public:
  RunWatch() = default;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;
  virtual ~RunWatch() = default;

  /// Notes that a run begins. If `timed`, the user is warned when the function computes for long.
  virtual void begin(const std::string& instance, bool timed) = 0;
  /// Notes that the run has ended; returns whether the user was warned.
  virtual bool end(bool timed) = 0;
};

}  // namespace isthmus::card::process

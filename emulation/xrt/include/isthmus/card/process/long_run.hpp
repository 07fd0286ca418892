// Warns of kernels whose function computes for long: such a kernel may never end.
#pragma once

#include <string>

namespace isthmus::card::process {

/// Wall time of a kernel's function after which the user is warned: our choice, so that a slow
/// kernel is not taken for a hang.
inline constexpr unsigned long_run_seconds = 10;

/// Returns the warning for the user.
std::string long_run(const std::string& instance);

/// Observes each run of a kernel's function; called by the thread that runs it.
class RunWatch {
 public:
  RunWatch() = default;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;
  virtual ~RunWatch() = default;

  /// Begins a run. `timed`: the user is warned if the function computes for long.
  virtual void begin(const std::string& instance, bool timed) = 0;
  /// Ends a run; returns whether the user was warned.
  virtual bool end(bool timed) = 0;
};

}  // namespace isthmus::card::process

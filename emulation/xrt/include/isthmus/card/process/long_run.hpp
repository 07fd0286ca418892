// Kernels whose function computes for long: the user is told, for such a kernel may never end.
#pragma once

#include <string>

namespace isthmus::card::process {

inline constexpr unsigned long_run_seconds = 10;

/// The line for the user.
std::string long_run(const std::string& instance);

/// Is told of each run of a kernel's function, by the thread that runs it.
class RunWatch {
 public:
  RunWatch() = default;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;
  virtual ~RunWatch() = default;

  /// With `timed` the user is told if the function computes for long.
  virtual void begin(const std::string& instance, bool timed) = 0;
  /// Whether the user was told.
  virtual bool end(bool timed) = 0;
};

}  // namespace isthmus::card::process

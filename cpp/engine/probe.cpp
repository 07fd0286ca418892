#include "probe.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace isthmus {
namespace {

/// Steal in seconds: the eighth number of /proc/stat's first line, in clock ticks of all processors
/// together (proc(5)).
double steal_seconds() {
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  std::uint64_t ticks = 0;
  for (int figure = 0; figure < 8; ++figure) {
    file >> ticks;
  }
  return file ? static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0.0;
}

}  // namespace

Probe read_probe() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.steal_s = steal_seconds(),
          .voluntary_switches = usage.ru_nvcsw,
          .involuntary_switches = usage.ru_nivcsw,
          .minor_faults = usage.ru_minflt,
          .major_faults = usage.ru_majflt};
}

Probe operator-(const Probe& later, const Probe& earlier) {
  return {.steal_s = later.steal_s - earlier.steal_s,
          .voluntary_switches = later.voluntary_switches - earlier.voluntary_switches,
          .involuntary_switches = later.involuntary_switches - earlier.involuntary_switches,
          .minor_faults = later.minor_faults - earlier.minor_faults,
          .major_faults = later.major_faults - earlier.major_faults};
}

}  // namespace isthmus

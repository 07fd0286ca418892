#include "probe.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace isthmus {
namespace {

/// Eighth figure of /proc/stat's first line, in clock ticks of all processors together (proc(5)).
double steal_seconds() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/stat", "re"),
                                                             &std::fclose);
  unsigned long long steal = 0;
  if (!file || std::fscanf(file.get(), "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1) {
    return 0;
  }
  return static_cast<double>(steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
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

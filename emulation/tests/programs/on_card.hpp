// What the programs on emulated cards share: a card, times, and one JSON object of what was found.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>
#include <xrt/xrt_device.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

using Arguments = std::vector<std::string>;

/// What was found; printed at the end, for XRT prints too.
inline std::vector<std::pair<std::string, double>> told;

inline void tell(const std::string& name, double value) { told.emplace_back(name, value); }

inline void print() {
  const char* before = "{";
  for (const auto& [name, value] : told) {
    std::printf("%s\"%s\": %.9f", before, name.c_str(), value);
    before = ", ";
  }
  std::puts("}");
}

inline double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time);
}

inline double now() { return seconds(CLOCK_MONOTONIC); }

/// By a system call of our own, which no library stands in front of.
inline double wall_now() {
  timespec time{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return seconds(time);
}

inline double lasted(const std::function<void()>& what) {
  const double began = now();
  what();
  return now() - began;
}

/// Computes for so long, in processor time: wall time has what others on the machine do in it.
inline void compute(double duration) {
  volatile double sum = 0;
  for (const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + duration;
       seconds(CLOCK_THREAD_CPUTIME_ID) < end;) {
    for (int i = 0; i < 100; ++i) {
      sum = sum + i;
    }
  }
}

/// KiB of memory that a process has in RAM.
inline double resident(const std::string& process = "self") {
  std::ifstream file("/proc/" + process + "/status");
  for (std::string word; file >> word;) {
    if (word == "VmRSS:") {
      double kibibytes = 0;
      file >> kibibytes;
      return kibibytes;
    }
  }
  return 0;
}

struct Card {
  xrt::device device;
  xrt::uuid uuid;

  explicit Card(const std::string& xclbin, unsigned index = 0)
      : device(index), uuid(device.load_xclbin(xclbin)) {}
};

/// Does what the first argument names, with the others; the program's exit code.
inline int act(int count, char** given,
               const std::map<std::string, void (*)(const Arguments&)>& known) {
  const Arguments arguments(given + 1, given + count);
  const auto found = arguments.size() < 2 ? known.end() : known.find(arguments[0]);
  if (found == known.end()) {
    return 2;
  }
  try {
    found->second({arguments.begin() + 1, arguments.end()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
  print();
  return 0;
}

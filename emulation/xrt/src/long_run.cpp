#include "isthmus/card/process/long_run.hpp"

#include <unistd.h>

#include <csignal>

namespace isthmus::card::process {
namespace {

class WatchByAlarm : public RunWatch {
 public:
  void begin(const std::string& instance, bool timed) override {
    if (!timed) {
      return;
    }
    static const bool handled = [] {
      struct sigaction action{};
      action.sa_handler = tell;
      action.sa_flags = SA_RESTART;
      return sigaction(SIGALRM, &action, nullptr) == 0;
    }();
    told_ = 0;
    line_ = "isthmus: emulated card: " + long_run(instance) + "\n";
    if (handled) {
      alarm(long_run_seconds);
    }
  }
  bool end(bool timed) override {
    if (!timed) {
      return false;
    }
    alarm(0);
    return told_ != 0;
  }

 private:
  static void tell(int /*signal*/) {  // all is text already: this may be in the midst of anything
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line_.data(), line_.size());
    told_ = 1;
  }
  static inline volatile std::sig_atomic_t told_ = 0;
  static inline std::string line_;
};

}  // namespace

std::string long_run(const std::string& instance) {
  return "kernel " + instance + " has computed for " + std::to_string(long_run_seconds) +
         " s of wall time and goes on; it may never end: Ctrl-C ends the program";
}

RunWatch& watch_by_alarm() {
  static WatchByAlarm watch;
  return watch;
}

}  // namespace isthmus::card::process

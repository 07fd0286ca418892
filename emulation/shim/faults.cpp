#include "faults.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string_view>

#include "isthmus/card/process/environment.hpp"

namespace isthmus::shim {
namespace {

/// Time from SIGTERM to SIGKILL, in which the program's own handlers may run.
constexpr std::timespec grace{.tv_sec = 3, .tv_nsec = 0};
constexpr std::array crashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

thread_local int in_kernel = 0;
std::array<struct sigaction, crashes.size()> before_ours{};

void write_all(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string_view name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "Segmentation fault";
    case SIGBUS:
      return "Bus error";
    case SIGFPE:
      return "Floating point exception";
    case SIGILL:
      return "Illegal instruction";
    default:
      return "Aborted";
  }
}

/// Reports a crash in a kernel. It handles a signal, so it calls only async-signal-safe functions.
void on_crash(int signal, siginfo_t* what, void* context) {
  if (in_kernel > 0) {
    write_all("isthmus: emulated card: a kernel crashed (");
    write_all(name_of(signal));
    write_all("); the program is ended\n");
    end_program();
  }
  for (std::size_t index = 0; index < crashes.size(); ++index) {
    if (crashes.at(index) == signal) {
      const struct sigaction& before = before_ours.at(index);
      if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, what, context);
      } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
      } else {
        std::signal(signal, SIG_DFL);
        std::raise(signal);
      }
    }
  }
}

void handle_crashes() {
  static const bool handled = [] {
    for (std::size_t index = 0; index < crashes.size(); ++index) {
      struct sigaction ours{};
      ours.sa_sigaction = on_crash;
      ours.sa_flags = SA_SIGINFO | SA_NODEFER;
      sigaction(crashes.at(index), &ours, &before_ours.at(index));
    }
    return true;
  }();
  static_cast<void>(handled);
}

}  // namespace

void say(const std::string& text) { write_all("isthmus: emulated card: " + text + "\n"); }

void say_mistake(const std::string& text) {
  say(text);
  if (const std::string file = card::process::environment("ISTHMUS_CARD_FAIL_ON_WARNING");
      !file.empty()) {
    std::ofstream(file, std::ios::app) << text << '\n';
  }
}

void end_program() {
  kill(getpid(), SIGTERM);
  std::timespec rest = grace;
  while (nanosleep(&rest, &rest) != 0) {
  }
  kill(getpid(), SIGKILL);
  while (true) {
    pause();
  }
}

void enter_kernel() {
  handle_crashes();
  ++in_kernel;
}

void leave_kernel() { --in_kernel; }

}  // namespace isthmus::shim

// What XRT starts as its hardware emulation: an emulated card that answers the program's calls.
//
// XRT never notices that this process has died, and would wait for ever. So there are two: one
// answers, the other watches it; whichever is left ends the program.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "isthmus/card/process/channel.hpp"
#include "isthmus/card/process/device.hpp"
#include "isthmus/card/process/environment.hpp"

namespace isthmus::card::process {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{60'000};
constexpr milliseconds grace{3'000};

/// The program, which started this process. The descriptor is of it alone: a number may be another
/// process's once it is gone.
pid_t program = 0;
int program_file = -1;

void say(const std::string& text) {
  const std::string line = "isthmus: emulated card: " + text + "\n";
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, line.data(), line.size());
}

void signal_program(int signal) {
  static_cast<void>(syscall(SYS_pidfd_send_signal, program_file, signal, nullptr, 0U));
}

/// Ends the program, kindly at first. Only async-signal-safe calls.
void end_program() {
  signal_program(SIGTERM);
  pollfd gone{.fd = program_file, .events = POLLIN, .revents = 0};
  poll(&gone, 1, static_cast<int>(grace.count()));
  signal_program(SIGKILL);
}

bool is_program_gone() {
  pollfd gone{.fd = program_file, .events = POLLIN, .revents = 0};
  return poll(&gone, 1, 0) > 0;
}

extern "C" void watcher_is_gone(int /*signal*/) {
  constexpr std::string_view text =
      "isthmus: emulated card: its process was killed; the program is ended\n";
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, text.data(), text.size());
  end_program();
  _exit(EXIT_FAILURE);
}

/// EMULATION_SOCKETID is deviceN_COUNT_PID. Throws where XRT did not start this process.
struct Identity {
  std::string id = environment("EMULATION_SOCKETID");
  unsigned card = 0;
  unsigned count = 0;
  pid_t program = 0;

  Identity() {
    std::string_view rest = id;
    const auto number = [&rest](std::string_view before, auto& value) {
      if (!rest.starts_with(before)) {
        return false;
      }
      rest.remove_prefix(before.size());
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      return error == std::errc{};
    };
    if (!number("device", card) || !number("_", count) || !number("_", program) || program <= 1 ||
        environment("ISTHMUS_CARD_SESSION").empty()) {
      throw std::runtime_error("EMULATION_SOCKETID is '" + id +
                               "': this program is to be started by XRT, see isthmus card exec");
    }
  }
  [[nodiscard]] std::string socket(const std::string& prefix) const {
    const std::string user = environment("USER");
    return "/tmp/" + (user.empty() ? "" : user + "/") + prefix + id;
  }
};

std::ifstream opened(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
  }
  return file;
}

/// XRT writes the section BITSTREAM there, whatever it holds.
Description description_of(const Identity& identity) {
  std::ifstream file = opened(environment("EMULATION_RUN_DIR") + "/tempFile_" +
                              std::to_string(identity.count) + ".zip");
  return Description::parse(file);
}

void serve(const Identity& identity, Channel& channel) {
  const std::string session = environment("ISTHMUS_CARD_SESSION");
  std::ifstream parameters = opened(session + "/card" + std::to_string(identity.card) + ".board");
  Timing timing(Board::from(parse_parameters(parameters)));
  const std::string events = environment("ISTHMUS_CARD_EVENTS");
  Meter meter({.page = environment(page_variable),
               .events = events.empty() ? "" : events + "/" + identity.id + ".tsv",
               .computing = session + "/computing.tsv",
               .id = identity.id,
               .card = identity.card,
               .program = static_cast<std::uint32_t>(program),
               .board = timing.board().name});
  RemoteMemory host(identity.socket("D2X_unix_sock_"));
  // The private copy of the shim that stands in for a board's reads its mode from that variable
  // (emulation/python/isthmus/emulation/root.py).
  const bool as_hardware = !environment("ISTHMUS_CARD__MODE").empty();
  HostLooks looks(session + "/last_call." + std::to_string(program));
  Device device(description_of(identity), timing, host, meter,
                split(environment("ISTHMUS_CARD_KERNELS")),
                environment("ISTHMUS_CARD_FAIL_ON_WARNING"), as_hardware, &looks);

  std::array<std::byte, request_header_bytes> header{};
  std::vector<std::byte> body;
  while (channel.receive(header)) {
    const auto [bytes, call] = parse_request_header(header);
    body.resize(static_cast<std::size_t>(bytes));
    if (bytes > 0 && !channel.receive(body)) {
      throw WireError("the program went away within a call");
    }
    Reply reply = device.answer(call, Message(body));
    if (!channel.send(reply.message.reply(), reply.data)) {
      return;
    }
    if (call == Call::close) {
      try {
        host.close();
      } catch (const std::runtime_error&) {  // the program closes without waiting for that
        return;
      }
      return;  // the shim closes its socket only after this process has ended
    }
  }
}

/// Says what goes wrong, and does `afterwards`; the exit code.
template <class Action, class Afterwards>
int guarded(const Action& action, const Afterwards& afterwards) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    say("no memory left");
  } catch (const std::exception& error) {
    say(error.what());
  }
  afterwards();
  return EXIT_FAILURE;
}

/// Waits for the process that answers, and ends the program with it unless all is well. The channel
/// stays open here, too: a program that wrote to a closed one would die of SIGPIPE before this
/// process could say why.
int watch(pid_t server) {
  int status = 0;
  while (waitpid(server, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
    return EXIT_SUCCESS;
  }
  if (is_program_gone()) {
    return EXIT_SUCCESS;
  }
  if (WIFSIGNALED(status)) {
    say(std::string("its process was killed (") + strsignal(WTERMSIG(status)) +
        "); the program is ended");
  }
  end_program();
  return EXIT_FAILURE;
}

/// Nobody is ended before it is sure to be the program, which listens at the socket: whoever
/// started this by hand does not.
int run() {
  const Identity identity;
  program = identity.program;
  program_file = static_cast<int>(syscall(SYS_pidfd_open, program, 0U));
  if (program_file < 0 && errno == ESRCH) {
    return EXIT_SUCCESS;  // gone before
  }
  Channel channel(identity.socket(""), patience);
  if (channel.listener() != program) {
    throw std::runtime_error("another process than the program listens at its socket");
  }
  if (program_file < 0) {
    say(std::string("the program cannot be watched, and is ended: ") + std::strerror(errno));
    kill(program, SIGTERM);
    return EXIT_FAILURE;
  }
  // A Ctrl-C is the program's to understand; the end of its socket is ours.
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  const pid_t watcher = getpid();
  const pid_t server = fork();
  if (server < 0) {
    say(std::string("no process: ") + std::strerror(errno));
    end_program();
    return EXIT_FAILURE;
  }
  if (server > 0) {
    return watch(server);
  }
  std::signal(SIGUSR1, watcher_is_gone);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != watcher) {
    raise(SIGUSR1);
  }
  // The channel stays open until a program that is to be ended has ended, which else would say
  // something of its own about the end of its socket.
  return guarded(
      [&] {
        serve(identity, channel);
        return EXIT_SUCCESS;
      },
      end_program);
}

}  // namespace
}  // namespace isthmus::card::process

int main() {
  using namespace isthmus::card::process;
  return guarded(run, [] {});
}

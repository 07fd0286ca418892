// Processes of the emulation that the program must not see. XRT's shim starts the device process
// by fork() and waits for any child by waitpid(0): the program's own wait() would find the device
// process, and the shim would take the program's own children. Here the device process is no child
// of the program, and the shim waits for it alone.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "calls.hpp"
#include "device_processes.hpp"
#include "library.hpp"
#include "real.hpp"

namespace {

using namespace isthmus::card;
using namespace isthmus::card::clock;

constinit Real<pid_t()> real_fork("fork");
constinit Real<pid_t(pid_t, int*, int)> real_waitpid("waitpid");
constinit Real<int(int, int, int)> real_socket("socket");
constinit Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction("sigaction");

constexpr std::size_t most_path = 4096;
constexpr const char* script = "simulate.sh";

constinit DeviceProcesses device_processes;

/// In a copy of the program that runs only this: no function of libc that keeps a state.
[[noreturn]] void become_device_process(const char* folder, const char* command) {
  // What kernels print goes to stderr: the program's output is its own.
  const int printed =
      fcntl(STDERR_FILENO, F_GETFD) >= 0 ? STDERR_FILENO : open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (printed >= 0 && dup2(printed, STDOUT_FILENO) >= 0 && chdir(folder) == 0) {
    std::array<char*, 2> arguments = {const_cast<char*>(command), nullptr};  // NOLINT(*-const-cast)
    execve(command, arguments.data(), environ);
  }
  _exit(EXIT_FAILURE);
}

/// Starts the device process as a grandchild whose parent has ended. The child between gives no
/// signal when it ends (its exit signal is none), so that only this call can wait for it.
pid_t start_device_process(const char* session) {
  std::array<char, most_path> folder{};
  constexpr std::string_view inside = "/device";
  const std::string_view path = session;
  if (path.size() + inside.size() >= folder.size()) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::ranges::copy(inside, std::ranges::copy(path, folder.begin()).out);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return -1;
  }
  const auto child = static_cast<pid_t>(syscall(SYS_clone, CLONE_VFORK, nullptr, 0, 0, 0));
  if (child == 0) {
    const auto grandchild = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, 0, 0, 0));
    if (grandchild == 0) {
      become_device_process(folder.data(), script);
    }
    syscall(SYS_write, ends[1], &grandchild, sizeof(grandchild));
    _exit(0);
  }
  close(ends[1]);
  pid_t device = -1;
  if (child > 0) {
    const auto got = syscall(SYS_read, ends[0], &device, sizeof(device));
    real_waitpid(child, nullptr, __WCLONE);
    device = got == sizeof(device) ? device : -1;
  }
  close(ends[0]);
  return device;
}

/// Longer than a device process takes to end; one that does not is ended with the session.
constexpr int most_for_an_end = 10'000;  // ms

/// The one that this thread has started last.
thread_local constinit int newest = DeviceProcesses::unknown;

/// Waits until the process of the card that this thread has just closed has ended; where that is
/// not known, any that the shim started. 0 where there is none, for at an error the shim would ask
/// again without end.
pid_t wait_for_device_process() {
  std::array<pollfd, DeviceProcesses::size()> ends{};
  const int closed = device_of_last_write();
  if (closed == DeviceProcesses::unwatched) {
    return 0;  // the end of another is not the end of this one
  }
  const bool known = closed >= 0 && device_processes.descriptor(closed) >= 0;
  bool any = false;
  for (std::size_t index = 0; index < ends.size(); ++index) {
    const bool wanted = !known || std::cmp_equal(index, closed);
    const int file = wanted ? device_processes.descriptor(index) : -1;
    ends[index] = {.fd = file, .events = POLLIN, .revents = 0};
    any = any || file >= 0;
  }
  while (any && syscall(SYS_poll, ends.data(), ends.size(), most_for_an_end) < 0 &&
         errno == EINTR) {
  }
  for (std::size_t index = 0; index < ends.size(); ++index) {
    const int file = ends[index].fd;
    const pid_t ended = ends[index].revents != 0 ? device_processes.remove(index, file) : 0;
    if (ended > 0) {
      if ((ends[index].revents & POLLNVAL) == 0) {  // else the program has closed it
        close(file);
      }
      return ended;
    }
  }
  return 0;
}

}  // namespace

namespace isthmus::card::clock {

int newest_device() { return newest; }

void forget_device_processes() {
  newest = DeviceProcesses::unknown;
  for (std::size_t place = 0; place < DeviceProcesses::size(); ++place) {
    if (const int file = device_processes.forget(place); file >= 0) {
      close(file);
    }
  }
}

}  // namespace isthmus::card::clock

ISTHMUS_INTERPOSED pid_t fork() noexcept {
  const char* session = std::getenv(folder_variable);
  if (page() == nullptr || session == nullptr || !learn_shim(__builtin_return_address(0)) ||
      is_own_shim()) {
    return real_fork();
  }
  const pid_t device = start_device_process(session);
  if (device > 0) {
    const auto file = static_cast<int>(syscall(SYS_pidfd_open, device, 0U));
    newest = device_processes.enter(device, file);
    if (newest == DeviceProcesses::unwatched && file >= 0) {
      close(file);
    }
  }
  return device;
}

ISTHMUS_INTERPOSED pid_t waitpid(pid_t process, int* status, int options) {
  if (page() == nullptr || !in_shim(__builtin_return_address(0))) {
    return real_waitpid(process, status, options);
  }
  if (status != nullptr) {
    *status = 0;
  }
  return wait_for_device_process();
}

/// What the shim opens is not for the program's children, nor for the next device process.
ISTHMUS_INTERPOSED int socket(int domain, int type, int protocol) noexcept {
  const bool of_shim = page() != nullptr && learn_shim(__builtin_return_address(0));
  return real_socket(domain, of_shim ? type | SOCK_CLOEXEC : type, protocol);
}

/// The shim's handlers for what ends a program: they send the signal to all of its processes, and
/// the exit code is chance. A board's driver has none.
ISTHMUS_INTERPOSED int sigaction(int signal, const struct sigaction* action,
                                 struct sigaction* before) noexcept {
  if (page() != nullptr && learn_shim(__builtin_return_address(0)) && !is_own_shim()) {
    return 0;
  }
  return real_sigaction(signal, action, before);
}

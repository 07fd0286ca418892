#include "warning.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace isthmus::card::clock {
namespace {

/// Environment variable with the file for the warning that ends the program (card exec
/// --fail-on-warning).
constexpr const char* fatal_variable = "ISTHMUS_CARD_FAIL_ON_WARNING";

}  // namespace

void warn_of_call(std::span<char> text) {
  const char* const fatal = std::getenv(fatal_variable);
  if (fatal == nullptr || *fatal == '\0') {
    std::array<char, warning_bytes + 64> line{};
    const int all = std::snprintf(line.data(), line.size(), "isthmus: emulated card: warning: %s\n",
                                  text.data());
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(std::max(all, 0)));
    return;
  }
  // At the program's end `card exec` prints this text.
  const int file = ::open(fatal, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0) {
    const std::size_t length = std::min(std::strlen(text.data()), text.size() - 1);
    text[length] = '\n';
    [[maybe_unused]] const ssize_t kept = ::write(file, text.data(), length + 1);
    ::close(file);
  }
  ::kill(getpid(), SIGTERM);
}

}  // namespace isthmus::card::clock

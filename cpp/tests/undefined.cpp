// In builds that detect undefined behaviour: that it fails a test.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <climits>
#include <csignal>

TEST_CASE("undefined behaviour ends the process") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGILL, SIG_DFL);  // without it Catch2 reports the signal as a failed test
    volatile int number = INT_MAX;
    number = number + 1;
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

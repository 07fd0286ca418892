#include "host_events.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "library.hpp"

namespace isthmus::card::clock {
namespace {

/// Environment variable with the folder for files of events; without it no events are listed.
constexpr const char* events_variable = "ISTHMUS_CARD_EVENTS";
constexpr std::uint64_t femtoseconds = 1'000'000;  ///< femtoseconds in a nanosecond
constexpr std::size_t most_name_bytes = 100;

constinit std::atomic<int> file = -1;
constinit std::atomic<bool> was_made = false;

/// Writes a whole line by a system call; libc's `write` would count as a call of the program.
void put(const char* line, int bytes) {
  if (bytes > 0) {
    syscall(SYS_write, file.load(), line, static_cast<std::size_t>(bytes));
  }
}

void make() {
  if (was_made.exchange(true)) {
    return;
  }
  const char* const folder = std::getenv(events_variable);
  std::array<char, PATH_MAX> name{};
  const int length =
      folder == nullptr || *folder == '\0'
          ? 0
          : std::snprintf(name.data(), name.size(), "%s/host-%d.tsv", folder, getpid());
  if (length <= 0 || !std::cmp_less(length, name.size())) {
    return;
  }
  file = ::open(name.data(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  std::array<char, 64> heading{};
  put(heading.data(),
      std::snprintf(heading.data(), heading.size(), "# host program %d\n", getpid()));
}

}  // namespace

bool lists_host_events() {
  make();
  return file >= 0 && time_has_started();
}

void list_host_event(const char* kind, const char* name, Nanoseconds begin, Nanoseconds end,
                     std::uint64_t bytes) {
  std::array<char, 256> line{};
  const int length =
      std::snprintf(line.data(), line.size(), "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                    kind, name, static_cast<std::uint64_t>(begin) * femtoseconds,
                    static_cast<std::uint64_t>(end - begin) * femtoseconds, bytes);
  put(line.data(), length);
}

void list_call(Nanoseconds begin, Nanoseconds end) {
  if (VirtualTime::role() != Role::program || !lists_host_events()) {
    return;
  }
  std::array<char, 16> thread{};
  std::snprintf(thread.data(), thread.size(), "%d", gettid());
  const auto computed = static_cast<std::uint64_t>(VirtualTime::take_computed());
  list_host_event("call", thread.data(), begin, end, computed * femtoseconds);
}

HostCopy::HostCopy(std::uint64_t bytes) : bytes_(lists_host_events() ? bytes : 0) {
  if (bytes_ > 0) {
    begin_ = program_time.now();
  }
}

HostCopy::~HostCopy() {
  if (bytes_ > 0) {
    const Nanoseconds end = program_time.now();
    const bool counted = program_time.set_computing_counts(false);
    list_host_event("host copy", "", begin_, end, bytes_);
    program_time.set_computing_counts(counted);
  }
}

}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

/// Declared in isthmus/region.h, by a weak symbol: without this library a program skips the call.
ISTHMUS_INTERPOSED void isthmus_region(const char* name) {
  if (!lists_host_events() || name == nullptr) {
    return;
  }
  std::array<char, most_name_bytes + 1> plain{};
  std::snprintf(plain.data(), plain.size(), "%s", name);
  // A tab or newline in the name would end the line's field.
  std::ranges::replace_if(plain, [](char letter) { return letter == '\t' || letter == '\n'; }, ' ');
  const Nanoseconds now = program_time.now();
  const bool counted = program_time.set_computing_counts(false);
  list_call(now, now);
  list_host_event("region", plain.data(), now, now, 0);
  program_time.set_computing_counts(counted);
}

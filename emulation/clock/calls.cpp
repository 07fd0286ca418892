#include "calls.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "library.hpp"

namespace isthmus::card::clock {
namespace {

using process::CardSlot;

constexpr std::uint64_t femtoseconds = 1'000'000;  ///< in a nanosecond
constexpr std::string_view memory_socket = "D2X_unix_sock";
constexpr Nanoseconds nap = 1'000'000;
constexpr Nanoseconds worth_a_nap = 100'000;
/// A program whose threads wait for less than this, for a mutex or for one another, is not idle.
constexpr Nanoseconds idle_for = 100'000;
/// With several cards: the shim of another looks as late as that for a kernel to be started.
constexpr Nanoseconds idle_among_cards_for = 2'000'000;
/// When somebody last asked more of a card than whether its kernel runs still; real time.
constinit std::atomic<Nanoseconds> last_use = 0;

/// Where the code of a library is, once it was looked for.
struct Code {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;

  [[nodiscard]] bool has(const void* code) const {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    const std::uintptr_t start = begin.load(std::memory_order_relaxed);
    return start != 0 && address >= start && address < end.load(std::memory_order_relaxed);
  }
};
constinit Code shim;
constinit Code scheduler;

/// A thread of XRT's has seen the end of a kernel and has not yet marked its command as done.
constinit std::atomic<bool> completing = false;
/// Longer than that takes on any machine; then something else is wrong.
constexpr Nanoseconds most_for_completion = 1'000'000'000;

/// A card that this process has open.
struct Connection {
  std::atomic<int> file = -1;
  std::array<char, sizeof(sockaddr_un::sun_path)> name{};
  std::atomic<CardSlot*> slot = nullptr;

  /// Its line in the page, null before the device process has taken one.
  CardSlot* line() {
    if (CardSlot* known = slot; known != nullptr) {
      return known;
    }
    for (CardSlot& candidate : page()->slots) {
      if (candidate.state == process::SlotState::open &&
          std::strncmp(candidate.id.data(), name.data(), candidate.id.size()) == 0) {
        slot = &candidate;
        return &candidate;
      }
    }
    return nullptr;
  }
};
constinit std::array<Connection, process::most_cards> connections;
constinit std::atomic<std::size_t> connection_count = 0;

/// Mutexes that the shim was seen to hold while it wrote to a card.
constinit std::array<std::atomic<pthread_mutex_t*>, 2 * process::most_cards> known_mutexes{};

bool is_known(const pthread_mutex_t* mutex) {
  for (const auto& known : known_mutexes) {
    const pthread_mutex_t* candidate = known;
    if (candidate == mutex || candidate == nullptr) {
      return candidate == mutex;
    }
  }
  return false;
}

void learn(pthread_mutex_t* mutex) {
  for (auto& known : known_mutexes) {
    pthread_mutex_t* free = nullptr;
    if (known.compare_exchange_strong(free, mutex) || free == mutex) {
      return;
    }
  }
}

/// The call that this thread is in, and the mutexes that it holds inside the shim.
struct Call {
  std::array<pthread_mutex_t*, 8> held;
  std::size_t held_count;
  pthread_mutex_t* guard;  ///< with its release the call ends; null: in no call
  CardSlot* slot;
  Nanoseconds began;
  Nanoseconds began_real;
  std::uint64_t elapsed_before;
  std::uint32_t busy_before;
  Threads::Sample others;
  Threads::Watch watch;
};
thread_local constinit Call call{};

void begin(pthread_mutex_t* guard) {
  call.guard = guard;
  call.slot = nullptr;
  if (!is_virtual()) {
    return;
  }
  call.began = program_time.enter();
  call.began_real = real_time(CLOCK_MONOTONIC);
  threads.sample(call.others);
}

/// Tells the device process what the program's time is, and how far it may jump.
void tell(CardSlot& slot) {
  if (call.slot == nullptr) {
    call.slot = &slot;
    call.busy_before = slot.busy;
    if (!is_virtual()) {
      return;
    }
    call.elapsed_before = slot.elapsed_fs;
    slot.offset_fs = static_cast<std::uint64_t>(call.began) * femtoseconds - call.elapsed_before;
  }
  if (!is_virtual()) {
    return;
  }
  const Nanoseconds real = real_time(CLOCK_MONOTONIC);
  if (slot.busy == 0) {
    last_use = real;
    return;
  }
  const Nanoseconds deadline = deadlines.earliest();
  const auto left = static_cast<std::uint64_t>(std::max<Nanoseconds>(deadline - call.began, 0));
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  slot.patience_fs = left > most / femtoseconds ? most : left * femtoseconds;
  const Nanoseconds idle = std::min(threads.others_idle(call.watch), real - last_use);
  slot.alone = idle >= (connection_count > 1 ? idle_among_cards_for : idle_for) ? 1 : 0;
}

void end() {
  const bool seen_an_end = call.slot != nullptr && call.slot->busy < call.busy_before;
  if (seen_an_end && Threads::role() != Role::program) {
    completing = true;
  }
  if (!is_virtual()) {
    call.guard = nullptr;
    return;
  }
  Nanoseconds took = 0;
  if (call.slot != nullptr) {
    const std::uint64_t elapsed = call.slot->elapsed_fs - call.elapsed_before;
    took = static_cast<Nanoseconds>((elapsed + femtoseconds - 1) / femtoseconds);
  }
  const Nanoseconds finish = call.began_real + took;
  // Somebody computes on while this call lasts: then it lasts in real time too.
  while (finish - real_time(CLOCK_MONOTONIC) > worth_a_nap && threads.others_run(Role::program)) {
    really_sleep(std::min(nap, finish - real_time(CLOCK_MONOTONIC)));
  }
  // One that still runs counts with the time that it had to wait for a processor, as when alone.
  const bool still_runs = threads.others_run(Role::program);
  const Nanoseconds used = call.others.longest_use();
  const Nanoseconds lasted = real_time(CLOCK_MONOTONIC) - call.began_real;
  const Nanoseconds computed = still_runs ? lasted : std::min(used, lasted);
  if (Threads::role() != Role::program) {
    const bool polls = call.slot != nullptr && call.slot->busy != 0;
    Threads::set_role(polls ? Role::poller : Role::scheduler);
  }
  call.guard = nullptr;
  program_time.leave(call.began + std::max(took, computed));
}

/// The name of a library's file without its folder.
std::string_view file_of(const char* path) {
  std::string_view name = path == nullptr ? "" : path;
  return name.substr(name.rfind('/') + 1);
}

/// Enters where the shim is, and the library with XRT's scheduler.
int find_code(dl_phdr_info* object, std::size_t /*size*/, void* /*none*/) {
  const std::string_view name = file_of(object->dlpi_name);
  const bool of_shim = name.starts_with("libxrt_core.so") || name.starts_with("libxrt_hwemu.so");
  if (!of_shim && !name.starts_with("libxrt_coreutil.so")) {
    return 0;
  }
  Code& code = of_shim ? shim : scheduler;
  for (unsigned index = 0; index < object->dlpi_phnum; ++index) {
    const auto& segment = object->dlpi_phdr[index];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
      code.end = start + segment.p_memsz;
      code.begin = start;
    }
  }
  return 0;
}

}  // namespace

bool stands_still() { return call.guard != nullptr || Threads::role() != Role::program; }

bool has_card() { return connection_count != 0 && is_virtual(); }

bool kernel_runs() {
  for (std::size_t index = 0; index < connection_count; ++index) {
    const CardSlot* slot = connections[index].slot;
    if (slot != nullptr && slot->busy != 0) {
      return true;
    }
  }
  return false;
}

bool in_shim(const void* code) { return shim.has(code); }
bool in_scheduler(const void* code) { return scheduler.has(code); }

bool learn_shim(const void* code) {
  Dl_info object{};
  if (shim.begin == 0 && dladdr(code, &object) != 0) {
    const std::string_view name = file_of(object.dli_fname);
    if (name.starts_with("libxrt_core.so") || name.starts_with("libxrt_hwemu.so")) {
      dl_iterate_phdr(find_code, nullptr);
    }
  }
  return shim.has(code);
}

void await_completion() {
  if (!completing || Threads::role() != Role::program) {
    return;
  }
  const Nanoseconds until = real_time(CLOCK_MONOTONIC) + most_for_completion;
  while (completing && real_time(CLOCK_MONOTONIC) < until) {
    sched_yield();
  }
}

void on_scheduler_unlocked() {
  if (completing && Threads::role() != Role::program) {
    completing = false;
  }
}

void on_accept(int socket) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sun_family != AF_UNIX) {
    return;
  }
  const char* slash = std::strrchr(address.sun_path, '/');
  const char* name = slash == nullptr ? address.sun_path : slash + 1;
  if (std::string_view(name).starts_with(memory_socket)) {
    return;
  }
  for (std::size_t index = 0; index < connections.size(); ++index) {
    Connection& connection = connections[index];
    const bool same = std::strcmp(connection.name.data(), name) == 0 || connection.file == socket;
    if (same || index == connection_count) {
      connection.slot = nullptr;
      connection.name = {};
      std::memcpy(connection.name.data(), name,
                  std::min(std::strlen(name), connection.name.size() - 1));
      connection.file = socket;
      connection_count = std::max(connection_count.load(), index + 1);
      return;
    }
  }
}

void on_write(int file) {
  for (std::size_t index = 0; index < connection_count; ++index) {
    Connection& connection = connections[index];
    if (connection.file != file) {
      continue;
    }
    const std::size_t held = std::min(call.held_count, call.held.size());
    for (std::size_t each = 0; each < held; ++each) {
      learn(call.held[each]);
    }
    if (call.guard == nullptr && held != 0) {
      begin(call.held[0]);
    }
    CardSlot* slot = connection.line();
    if (slot != nullptr && call.guard != nullptr) {
      tell(*slot);
    }
    return;
  }
}

void on_locked(pthread_mutex_t* mutex) {
  if (call.held_count < call.held.size()) {
    call.held[call.held_count] = mutex;
  }
  ++call.held_count;
  if (call.guard == nullptr && is_known(mutex)) {
    begin(mutex);
  }
}

void on_unlocking(pthread_mutex_t* mutex) {
  auto* const first = call.held.begin();
  auto* const last = first + std::min(call.held_count, call.held.size());
  // What was locked before the shim was known is not among them.
  auto* const found = std::find(first, last, mutex);
  if (found != last) {
    std::move(found + 1, last, found);
    --call.held_count;
  }
  if (call.guard == mutex) {
    end();
  }
}

void forget_call() {
  call.guard = nullptr;
  call.held_count = 0;
}

}  // namespace isthmus::card::clock

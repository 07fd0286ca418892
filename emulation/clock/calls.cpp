#include "calls.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "library.hpp"
#include "lock.hpp"
#include "scheduler.hpp"

namespace isthmus::card::clock {
namespace {

using process::CardSlot;

constexpr std::uint64_t femtoseconds = 1'000'000;  ///< in a nanosecond
constexpr std::string_view memory_socket = "D2X_unix_sock";

/// Where the code of a library is, once it was looked for.
struct Code {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<const char*> path = nullptr;

  [[nodiscard]] bool has(const void* code) const {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    const std::uintptr_t start = begin.load(std::memory_order_relaxed);
    return start != 0 && address >= start && address < end.load(std::memory_order_relaxed);
  }
};
constinit Code shim;
constinit Code scheduler;
constinit Code opencl;
constinit Code opencl_devices;

/// A card that this process has open.
struct Connection {
  std::atomic<int> file = -1;
  std::array<char, sizeof(sockaddr_un::sun_path)> name{};
  std::atomic<CardSlot*> slot = nullptr;
  std::atomic<int> device = -1;  ///< its process, as `newest_device` says

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
/// Held while a connection is entered.
constinit std::atomic<bool> opening = false;
/// Of the card to which this thread has written last.
thread_local constinit int last_device = -1;

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
  std::uint64_t elapsed_before;
  std::uint32_t busy_before;
  std::uint64_t kernels_before;
};
thread_local constinit Call call{};

void begin(pthread_mutex_t* guard) {
  call.guard = guard;
  call.slot = nullptr;
  if (is_scheduler()) {
    xrt_scheduler.in_call = true;
  }
  if (is_virtual()) {
    call.began = program_time.enter(Doing::call);
  }
}

/// Tells the device process what the program's time is, and how far it may jump.
void tell(CardSlot& slot) {
  if (call.slot == nullptr) {
    call.slot = &slot;
    call.busy_before = slot.busy;
    call.kernels_before = slot.kernels;
    call.elapsed_before = slot.elapsed_fs;
    if (!is_virtual()) {
      return;
    }
    slot.waited_fs = static_cast<std::uint64_t>(Scheduler::waited(call.began)) * femtoseconds;
    slot.offset_fs = static_cast<std::uint64_t>(call.began) * femtoseconds - call.elapsed_before;
  }
  if (!is_virtual() || slot.busy == 0) {
    return;
  }
  const Nanoseconds deadline = deadlines.earliest();
  const Nanoseconds next = std::min(deadline, program_time.earliest_other());
  const Nanoseconds left = std::clamp<Nanoseconds>(next - call.began, 0, most_ahead);
  slot.patience_fs = static_cast<std::uint64_t>(left) * femtoseconds;
  const bool settled = xrt_scheduler.is_settled();
  slot.alone = left > 0 && settled ? 1 : 0;
  slot.stuck = deadline == Deadlines::none && settled && program_time.others_wait() ? 1 : 0;
}

/// When the call ends, by the program's time.
Nanoseconds end() {
  Nanoseconds took = 0;
  if (call.slot != nullptr) {
    const std::uint64_t elapsed = call.slot->elapsed_fs - call.elapsed_before;
    took = static_cast<Nanoseconds>((elapsed + femtoseconds - 1) / femtoseconds);
  }
  if (is_scheduler() && call.slot != nullptr) {
    const bool seen_an_end = call.slot->busy < call.busy_before;
    const bool started = call.slot->kernels != call.kernels_before;
    if (seen_an_end) {
      xrt_scheduler.last_end = call.began + took;
      xrt_scheduler.completing = true;
    }
    xrt_scheduler.running += (started ? 1 : 0) - (seen_an_end ? 1 : 0);
    if (started) {
      xrt_submissions.start();
    }
    if (seen_an_end || started) {
      xrt_scheduler.acted = true;
      xrt_scheduler.idle = false;
      ++xrt_scheduler.steps;
    }
  }
  call.guard = nullptr;
  return call.began + took;
}

/// Returns when nothing that happens before `time` is left to be done, and with `in_turn` once the
/// thread is the first of those that are there. It holds no mutex of the shim: others may need it.
void await(Nanoseconds time, bool in_turn) {
  program_time.aim(time);
  for (Nanoseconds nap = shortest_nap; !is_next(time) || (in_turn && !program_time.is_first(time));
       nap = std::min(2 * nap, longest_nap)) {
    really_sleep(nap);
  }
}

/// The name of a library's file without its folder.
std::string_view file_of(const char* path) {
  std::string_view name = path == nullptr ? "" : path;
  return name.substr(name.rfind('/') + 1);
}

/// Leads calls in a library elsewhere, which is loaded.
void redirect(const Code& code, void (*how)(void* library, std::span<unsigned char> code)) {
  const char* const path = code.path;
  if (void* library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as the loader tells it
    auto* const first = reinterpret_cast<unsigned char*>(code.begin.load());
    how(library, {first, code.end - code.begin});
    dlclose(library);
  }
}

/// Whether a library, which is loaded, is our own shim.
bool has_mark(const char* path) {
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return false;
  }
  const bool found = dlsym(library, "isthmus_shim") != nullptr;
  dlclose(library);
  return found;
}

bool is_shim(const char* path) {
  const std::string_view name = file_of(path);
  return name.starts_with("libxrt_core.so") || name.starts_with("libxrt_hwemu.so");
}

int find_shim(dl_phdr_info* object, std::size_t /*size*/, void* found) {
  *static_cast<bool*>(found) |= is_shim(object->dlpi_name);
  return 0;
}

/// Enters where the shim is, the library with XRT's scheduler, and XRT's OpenCL.
int find_code(dl_phdr_info* object, std::size_t /*size*/, void* /*none*/) {
  const std::string_view name = file_of(object->dlpi_name);
  const bool of_shim = is_shim(object->dlpi_name);
  constexpr std::array<std::pair<const char*, Code*>, 3> others = {
      {{"libxilinxopencl.so", &opencl},
       {"libxrt++.so", &opencl_devices},
       {"libxrt_coreutil.so", &scheduler}}};
  const auto* const other = std::ranges::find_if(
      others, [name](const auto& known) { return name.starts_with(known.first); });
  if (!of_shim && other == others.end()) {
    return 0;
  }
  Code& code = of_shim ? shim : *other->second;
  for (unsigned index = 0; index < object->dlpi_phnum; ++index) {
    const auto& segment = object->dlpi_phdr[index];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
      code.end = start + segment.p_memsz;
      code.begin = start;
      code.path = object->dlpi_name;
    }
  }
  return 0;
}

/// Whether the card's kernels that end before `time` are seen to have ended, and XRT's scheduler
/// has nothing else to do.
bool kernels_are_beyond(Nanoseconds time) {
  const Nanoseconds seen = VirtualTime::seen();
  const Nanoseconds near = seen == 0 ? time : std::min(time, seen + most_ahead);
  const auto wanted = static_cast<std::uint64_t>(near) * femtoseconds;
  int busy = 0;
  // Others are a program's own, which itself asks for their end.
  for (std::size_t index = 0; index < connection_count && xrt_scheduler.running > 0; ++index) {
    const CardSlot* slot = connections[index].slot;
    if (slot == nullptr || slot->state != process::SlotState::open || slot->busy == 0) {
      continue;
    }
    busy += static_cast<int>(slot->busy);
    // A difference, for times wrap.
    if (static_cast<std::int64_t>(slot->done_fs - wanted) < 0) {
      return false;
    }
  }
  // A kernel has ended, which the scheduler is being told.
  if (xrt_scheduler.in_call && busy < xrt_scheduler.running) {
    return false;
  }
  return xrt_scheduler.is_settled();
}

/// Cards of our own shim.
constinit std::array<std::atomic<CardSlot*>, process::most_cards> own_cards{};

/// Whether nothing is left to be done on them before `time`.
bool own_cards_are_beyond(Nanoseconds time) {
  const auto wanted = static_cast<std::uint64_t>(time) * femtoseconds;
  return std::ranges::none_of(own_cards, [wanted](const std::atomic<CardSlot*>& card) {
    const CardSlot* const slot = card;
    // A difference, for times wrap.
    return slot != nullptr && slot->pending != 0 &&
           static_cast<std::int64_t>(slot->done_fs - wanted) < 0;
  });
}

constinit bool own_shim = false;

/// How often others may disturb looks of a thread, one after another: some wait in loops of their
/// own, which must not hold time up.
constexpr int most_disturbed = 100;
thread_local constinit int disturbed = 0;

}  // namespace

bool has_card() { return program_time.has_started(); }

bool is_own_shim() { return own_shim; }

void enter_card(CardSlot& slot) {
  for (auto& card : own_cards) {
    CardSlot* free = nullptr;
    if (card.compare_exchange_strong(free, &slot) || free == &slot) {
      return;
    }
  }
}

void forget_card(const CardSlot& slot) {
  for (auto& card : own_cards) {
    if (card == &slot) {
      card = nullptr;
    }
  }
}

bool is_next_in_call(Nanoseconds time, bool in_turn) {
  const VirtualTime::Look look = program_time.look(time);
  const bool seems_next =
      look.earliest >= time && (look.first || !in_turn) && deadlines.earliest() >= time;
  return seems_next && program_time.activity_before(time) == look.activity;
}

bool is_next(Nanoseconds time) {
  // One after the other is looked at. A thread that was seen to wait may be woken before the next
  // is seen, by one that waits then itself: what was seen counts only if nobody acted meanwhile.
  const unsigned steps = xrt_scheduler.steps;
  const Nanoseconds used = xrt_scheduler.used();
  const std::int64_t activity = program_time.activity_before(time);
  bool held_up = false;
  const bool seems_next =
      program_time.earliest_other() >= time && deadlines.earliest() >= time &&
      own_cards_are_beyond(time) &&
      (is_scheduler() || (held_up = xrt_scheduler.is_held_up()) || kernels_are_beyond(time));
  const auto alone = [&] {
    return xrt_scheduler.steps == steps && program_time.activity_before(time) == activity &&
           (!held_up || xrt_scheduler.used() == used);
  };
  if (!seems_next || alone() || disturbed == most_disturbed) {
    disturbed = 0;
    return seems_next;
  }
  ++disturbed;
  return false;
}

void end_waiting_kernels(process::Ending with, std::optional<unsigned> card) {
  for (std::size_t index = 0; index < connection_count; ++index) {
    CardSlot* const slot = connections[index].line();
    if (slot != nullptr && (!card.has_value() || slot->card == *card)) {
      slot->ending = with;
    }
  }
}

bool kernel_runs() {
  if (std::ranges::any_of(own_cards, [](const std::atomic<CardSlot*>& card) {
        const CardSlot* const slot = card;
        return slot != nullptr && (slot->busy != 0 || slot->pending != 0);
      })) {
    return true;
  }
  for (std::size_t index = 0; index < connection_count; ++index) {
    const CardSlot* slot = connections[index].slot;
    if (slot != nullptr && slot->busy != 0) {
      return true;
    }
  }
  return false;
}

bool in_shim(const void* code) { return shim.has(code); }
bool in_scheduler(const void* code) { return !own_shim && scheduler.has(code); }
bool in_opencl(const void* code) { return opencl.has(code) || opencl_devices.has(code); }
bool in_runtime(const void* code) { return scheduler.has(code) || shim.has(code); }

void learn_loaded_shim() {
  bool is_loaded = false;
  dl_iterate_phdr(find_shim, &is_loaded);
  if (is_loaded) {
    dl_iterate_phdr(find_code, nullptr);
    own_shim = has_mark(shim.path);
    if (!own_shim) {
      redirect(shim, redirect_shim);
      redirect(scheduler, redirect_scheduler);
    }
    redirect(opencl, redirect_opencl);
  }
}

bool learn_shim(const void* code) {
  Dl_info object{};
  if (shim.begin == 0 && dladdr(code, &object) != 0 && is_shim(object.dli_fname)) {
    learn_loaded_shim();
  }
  return shim.has(code);
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
  start_time();
  const Locked lock(opening);
  for (std::size_t index = 0; index < connections.size(); ++index) {
    Connection& connection = connections[index];
    const bool same = std::strcmp(connection.name.data(), name) == 0 || connection.file == socket;
    if (same || index == connection_count) {
      connection.slot = nullptr;
      connection.name = {};
      std::memcpy(connection.name.data(), name,
                  std::min(std::strlen(name), connection.name.size() - 1));
      connection.file = socket;
      connection.device = newest_device();
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
    last_device = connection.device;
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

void await_turn(const pthread_mutex_t* mutex) {
  if (!is_virtual() || !has_card() || !is_of_program() || call.guard != nullptr ||
      !is_known(mutex)) {
    return;
  }
  await(program_time.enter(Doing::call), true);  // it goes on with `begin`
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

bool on_unlocking(pthread_mutex_t* mutex) {
  auto* const first = call.held.begin();
  auto* const last = first + std::min(call.held_count, call.held.size());
  // What was locked before the shim was known is not among them.
  auto* const found = std::find(first, last, mutex);
  if (found != last) {
    std::move(found + 1, last, found);
    --call.held_count;
  }
  return call.guard == mutex;
}

Nanoseconds call_end() { return end(); }

void leave_call(Nanoseconds goal) {
  if (has_card()) {
    if (is_of_program()) {
      await(goal, false);
    }
    program_time.leave(goal);
  }
  if (is_scheduler()) {
    xrt_scheduler.in_call = false;
  }
}

void forget_calls() {
  call = {};
  xrt_scheduler.forget();
  opening = false;
  connection_count = 0;
  for (Connection& connection : connections) {
    connection.file = -1;
    connection.slot = nullptr;
    connection.name = {};
    connection.device = -1;
  }
  for (auto& known : known_mutexes) {
    known = nullptr;
  }
  for (auto& card : own_cards) {
    card = nullptr;
  }
}

int device_of_last_write() { return last_device; }

}  // namespace isthmus::card::clock

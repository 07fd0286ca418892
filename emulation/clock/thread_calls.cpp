// Stands in front of the functions with which a program creates and joins threads.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "library.hpp"
#include "real.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card::clock;

using Routine = void*(void*);

constinit Real<int(pthread_t*, const pthread_attr_t*, Routine*, void*)> real_create(
    "pthread_create");
constinit Real<int(pthread_t, void**, const timespec*)> real_join("pthread_timedjoin_np");
constinit Real<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");

/// How long a thread waits in pthread_join, in real time, before it wakes XRT's threads.
constexpr Nanoseconds before_waking = 20 * millisecond;

struct Start {
  Routine* routine;
  void* argument;
  Role role;
  Nanoseconds began;
  VirtualTime::Thread* place;
};

/// Returns the file name of the library in which an address lies; empty if in none.
std::string_view library_of(const void* address) {
  Dl_info object{};
  if (dladdr(address, &object) == 0 || object.dli_fname == nullptr) {
    return {};
  }
  std::string_view name = object.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);
  return name;
}

Role role_of(const void* creator, Routine* routine, const void* argument) {
  // std::thread begins in libstdc++, with an object whose first word points to its table of virtual
  // functions, which lies in the creator's library. Threads of OpenCL's libraries count as the
  // program's.
  const void* in_creator = library_of(creator).starts_with("libstdc++.so")
                               ? *static_cast<void* const*>(argument)
                               : reinterpret_cast<const void*>(routine);
  const std::string_view library = library_of(in_creator);
  if (library.starts_with("libxrt_coreutil.so")) {
    return Role::runtime;
  }
  const bool of_shim =
      library.starts_with("libxrt_core.so") || library.starts_with("libxrt_hwemu.so");
  return of_shim ? Role::shim : Role::program;
}

/// Registers the new thread and runs the program's routine for it.
void* started(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  std::free(argument);  // NOLINT(*-no-malloc): `new` needs the C++ library
  begin_thread(start.role, start.began, start.place);
  return start.routine(start.argument);
}

}  // namespace

ISTHMUS_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      Routine* routine, void* argument) noexcept {
  // With `--clock wall` threads are registered as well: `pthread_join` wakes XRT's.
  auto* start = page() != nullptr ? static_cast<Start*>(std::malloc(sizeof(Start))) : nullptr;
  if (start == nullptr) {
    return real_create(thread, attributes, routine, argument);
  }
  const Role role = role_of(__builtin_return_address(0), routine, argument);
  const Nanoseconds began = time_has_started() ? program_time.now() : 0;
  // From now on other threads wait for the new thread, even before it runs.
  VirtualTime::Thread* const place = program_time.reserve(role, began);
  *start = {.routine = routine, .argument = argument, .role = role, .began = began, .place = place};
  const int result = real_create(thread, attributes, started, start);
  if (result != 0) {
    program_time.release(place);
    std::free(start);
  }
  return result;
}

/// Joins a thread. At a program's end XRT signals its thread without the condition's mutex, then
/// joins it (`kds::stop`). If the thread has checked its flag and does not wait yet, it misses the
/// signal, and the program would never end. So this function wakes XRT's threads until they end.
ISTHMUS_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  int status = ETIMEDOUT;
  while (status == ETIMEDOUT) {
    const timespec end = in_real_time(before_waking, CLOCK_REALTIME);
    status = real_join(thread, result, &end);
    if (status == ETIMEDOUT) {
      program_time.wake_runtime(
          [](void* condition) { real_broadcast(static_cast<pthread_cond_t*>(condition)); });
    }
  }
  follow_stamp(place_of(thread));
  return status;
}

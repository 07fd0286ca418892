// The calls by which the library learns what the shim and the program's threads do.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "calls.hpp"
#include "environment.hpp"
#include "library.hpp"
#include "real.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card::clock;

using Routine = void*(void*);

constinit Real<int(int, sockaddr*, socklen_t*, int)> real_accept("accept4");
constinit Real<ssize_t(int, const void*, std::size_t)> real_write("write");
constinit Real<int(const char*, const char*, int)> real_setenv("setenv");
constinit Real<int(pthread_mutex_t*)> real_lock("pthread_mutex_lock");
constinit Real<int(pthread_mutex_t*)> real_unlock("pthread_mutex_unlock");
constinit Real<int(pthread_t*, const pthread_attr_t*, Routine*, void*)> real_create(
    "pthread_create");

constinit Real<int(pthread_t, void**, const timespec*)> real_join("pthread_timedjoin_np");
constinit Real<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
constinit Real<void(pthread_cond_t*, pthread_mutex_t**)> real_condition_wait(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_clock_wait(
    "pthread_cond_clockwait");

constexpr Nanoseconds most_between_looks = 5'000'000;
/// How long a thread waits for another's end before it wakes threads of XRT.
constexpr Nanoseconds before_waking = 20'000'000;

struct Start {
  Routine* routine;
  void* argument;
  Role role;
  Nanoseconds began;
  VirtualTime::Thread* place;
};

/// Whether an address belongs to a library whose file's name begins so.
bool is_of(const void* address, std::string_view library) {
  Dl_info object{};
  if (dladdr(address, &object) == 0 || object.dli_fname == nullptr) {
    return false;
  }
  std::string_view name = object.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);
  return name.starts_with(library);
}

/// Whether a thread is one of XRT's own, which poll and serve the card: to a board they cost
/// nothing.
Role role_of(const void* creator, Routine* routine, const void* argument) {
  // std::thread begins in libstdc++ with an object whose type, by its table, is the creator's.
  const void* code = is_of(creator, "libstdc++.so") ? *static_cast<void* const*>(argument)
                                                    : reinterpret_cast<const void*>(routine);
  if (is_of(code, "libxrt_coreutil")) {
    return !is_own_shim() && starts_scheduler() ? Role::scheduler : Role::runtime;
  }
  return is_of(code, "libxrt_") ? Role::shim : Role::program;
}

/// A thread that registers itself.
void* started(void* given) {
  const Start start = *static_cast<Start*>(given);
  std::free(given);  // NOLINT(*-no-malloc): `new` needs the C++ library
  begin_thread(start.role, start.began, start.place);
  return start.routine(start.argument);
}

}  // namespace

ISTHMUS_INTERPOSED void wait_for_condition_variable(
    pthread_cond_t* condition,
    pthread_mutex_t** lock) asm("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
ISTHMUS_INTERPOSED void notify_condition_variable(pthread_cond_t* condition) asm(
    "_ZNSt18condition_variable10notify_oneEv");

ISTHMUS_INTERPOSED int accept(int listener, sockaddr* address, socklen_t* length) {
  const bool of_shim = page() != nullptr && learn_shim(__builtin_return_address(0));
  const int socket = real_accept(listener, address, length, of_shim ? SOCK_CLOEXEC : 0);
  if (socket >= 0 && of_shim) {
    on_accept(socket);
  }
  return socket;
}

ISTHMUS_INTERPOSED ssize_t write(int file, const void* data, std::size_t size) {
  if (in_shim(__builtin_return_address(0))) {
    on_write(file);
  }
  return real_write(file, data, size);
}

ISTHMUS_INTERPOSED int setenv(const char* name, const char* value, int overwrite) noexcept {
  return in_shim(__builtin_return_address(0)) ? set_variable(name, value, overwrite != 0)
                                              : real_setenv(name, value, overwrite);
}

ISTHMUS_INTERPOSED int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  const void* caller = __builtin_return_address(0);
  const bool of_shim = in_shim(caller);
  if (of_shim && is_own_shim()) {
    return real_lock(mutex);
  }
  if (of_shim) {
    await_turn(mutex);
  } else if (in_scheduler(caller)) {
    await_completion();
  }
  const int result = real_lock(mutex);
  if (result != 0) {
    return result;
  }
  if (of_shim) {
    on_locked(mutex);
  } else if (in_scheduler(caller)) {
    on_scheduler_locked(mutex);
  } else {
    follow_others(mutex);
  }
  return result;
}

ISTHMUS_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const void* caller = __builtin_return_address(0);
  const bool of_shim = in_shim(caller);
  if (of_shim && is_own_shim()) {
    return real_unlock(mutex);
  }
  const bool ends = of_shim && on_unlocking(mutex);
  const Nanoseconds end = ends ? call_end() : 0;
  if (!of_shim && has_card()) {
    stamps.put(mutex, VirtualTime::seen());
  }
  const int result = real_unlock(mutex);
  if (ends) {
    leave_call(end);
  } else if (in_scheduler(caller)) {
    on_scheduler_unlocked();
  }
  return result;
}

/// XRT's scheduler signals conditions without holding their mutex: a signal between a waiter's look
/// at its condition and its wait is lost, and then it waits for ever. It looks again after a while.
/// `lock` is a std::unique_lock, which begins with the mutex's address.
ISTHMUS_INTERPOSED void wait_for_condition_variable(pthread_cond_t* condition,
                                                    pthread_mutex_t** lock) {
  if (!in_scheduler(__builtin_return_address(0))) {
    real_condition_wait(condition, lock);
    return;
  }
  const Nanoseconds end = real_time(CLOCK_MONOTONIC) + most_between_looks;
  const timespec time{.tv_sec = end / second, .tv_nsec = end % second};
  on_parked(true);
  VirtualTime::begin_slice();
  const bool woken = real_clock_wait(condition, *lock, CLOCK_MONOTONIC, &time) == 0;
  program_time.end_slice(woken);
  on_parked(false);
  // Several commands may share a condition: who is slow to wake would follow a later one's end.
  if (!waits_for_command()) {
    follow_others(condition);
  }
}

ISTHMUS_INTERPOSED void notify_condition_variable(pthread_cond_t* condition) {
  if (in_scheduler(__builtin_return_address(0))) {
    on_signalled();
  }
  pthread_cond_signal(condition);
}

ISTHMUS_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      Routine* routine, void* argument) noexcept {
  auto* start = page() != nullptr ? static_cast<Start*>(std::malloc(sizeof(Start))) : nullptr;
  if (start == nullptr) {
    return real_create(thread, attributes, routine, argument);
  }
  const Role role = role_of(__builtin_return_address(0), routine, argument);
  const Nanoseconds began = has_card() ? program_time.now() : 0;
  // Others wait for it from now on, not only from when it runs.
  VirtualTime::Thread* const place = program_time.reserve(role, began);
  *start = {.routine = routine, .argument = argument, .role = role, .began = began, .place = place};
  const int result = real_create(thread, attributes, started, start);
  if (result != 0) {
    program_time.release(place);
    std::free(start);
  }
  return result;
}

/// XRT tells a thread of its own to end, without the mutex of the condition for which that thread
/// waits, and then waits for the thread's end (`kds::stop`). A signal between the thread's look and
/// its wait is lost, and then the program would never end. So XRT's threads are made to look again.
ISTHMUS_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  int status = ETIMEDOUT;
  while (status == ETIMEDOUT) {
    const timespec end = as_timespec(real_time(CLOCK_REALTIME) + before_waking);
    status = real_join(thread, result, &end);
    if (status == ETIMEDOUT) {
      program_time.wake_runtime([](const void* condition) {
        real_broadcast(static_cast<pthread_cond_t*>(const_cast<void*>(condition)));  // NOLINT
      });
    }
  }
  follow_others(place_of(thread));
  return status;
}

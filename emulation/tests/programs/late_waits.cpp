// To be preloaded: threads lose their processor where that does harm, as on a busy machine. Each
// wait for a condition begins late, so that a signal that is given without the condition's mutex
// comes between a thread's look at its condition and its wait. And each thread but the first comes
// late to each mutex.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void lose_processor() {
  const timespec late{.tv_sec = 0, .tv_nsec = 2'000'000};
  syscall(SYS_nanosleep, &late, nullptr);
}

}  // namespace

extern "C" int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  lose_processor();
  return next<decltype(pthread_cond_wait)>("pthread_cond_wait")(condition, mutex);
}

extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      clockid_t clock, const timespec* time) {
  lose_processor();
  return next<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait")(condition, mutex, clock,
                                                                          time);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const lock = next<decltype(pthread_mutex_lock)>("pthread_mutex_lock");
  if (syscall(SYS_gettid) != getpid()) {
    lose_processor();
  }
  return lock(mutex);
}

// Stands in front of the functions by which programs wait for locks, semaphores and threads.
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>

#include "real.hpp"
#include "waiting.hpp"

namespace {

using namespace isthmus::card::clock;

constinit Real<int(pthread_mutex_t*)> real_lock("pthread_mutex_lock");
constinit Real<int(pthread_mutex_t*)> real_unlock("pthread_mutex_unlock");
constinit Real<int(sem_t*)> real_post("sem_post");
constinit Real<int(sem_t*)> real_untimed_sem_wait("sem_wait");
constinit Real<int(pthread_mutex_t*, const timespec*)> real_timed_lock("pthread_mutex_timedlock");
constinit Real<int(pthread_mutex_t*, clockid_t, const timespec*)> real_clock_lock(
    "pthread_mutex_clocklock");
constinit Real<int(pthread_rwlock_t*)> real_read_lock("pthread_rwlock_rdlock");
constinit Real<int(pthread_rwlock_t*)> real_write_lock("pthread_rwlock_wrlock");
constinit Real<int(pthread_rwlock_t*)> real_rwlock_unlock("pthread_rwlock_unlock");
constinit Real<int(pthread_rwlock_t*, const timespec*)> real_timed_read_lock(
    "pthread_rwlock_timedrdlock");
constinit Real<int(pthread_rwlock_t*, const timespec*)> real_timed_write_lock(
    "pthread_rwlock_timedwrlock");
constinit Real<int(pthread_rwlock_t*, clockid_t, const timespec*)> real_clock_read_lock(
    "pthread_rwlock_clockrdlock");
constinit Real<int(pthread_rwlock_t*, clockid_t, const timespec*)> real_clock_write_lock(
    "pthread_rwlock_clockwrlock");
constinit Real<int(pthread_barrier_t*)> real_barrier_wait("pthread_barrier_wait");
constinit Real<int(pthread_t, void**, const timespec*)> real_timed_join("pthread_timedjoin_np");
constinit Real<int(pthread_t, void**, clockid_t, const timespec*)> real_clock_join(
    "pthread_clockjoin_np");
constinit Real<int(sem_t*, clockid_t, const timespec*)> real_sem_wait("sem_clockwait");

int wait_for_mutex(pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  int result = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    // CLOCK_REALTIME is the one clock that every kind of mutex supports.
    const timespec end = in_real_time(duration, CLOCK_REALTIME);
    result = real_timed_lock(mutex, &end);
    return result != ETIMEDOUT;
  });
  if (result == 0) {
    follow_stamp(mutex);
  }
  return result;
}

/// Waits for a read-write lock. `real` is libc's function, which waits until a CLOCK_REALTIME time.
int wait_for_rwlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* time,
                    Real<int(pthread_rwlock_t*, const timespec*)>& real) {
  int result = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    const timespec end = in_real_time(duration, CLOCK_REALTIME);
    result = real(lock, &end);
    return result != ETIMEDOUT;
  });
  if (result == 0) {
    follow_stamp(lock);
  }
  return result;
}

int wait_for_thread(pthread_t thread, void** value, clockid_t clock, const timespec* time) {
  int result = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    const timespec end = in_real_time(duration, CLOCK_REALTIME);
    result = real_timed_join(thread, value, &end);
    return result != ETIMEDOUT;
  });
  if (result == 0) {
    follow_stamp(place_of(thread));
  }
  return result;
}

int wait_for_semaphore(sem_t* semaphore, clockid_t clock, const timespec* time) {
  int result = sem_trywait(semaphore);
  if (result == 0) {
    follow_stamp(semaphore);
    return 0;
  }
  errno = ETIMEDOUT;
  wait_until(deadline_of(clock, *time), [&](Nanoseconds duration) {
    const timespec end = in_real_time(duration);
    result = real_sem_wait(semaphore, CLOCK_MONOTONIC, &end);
    return result == 0 || errno != ETIMEDOUT;
  });
  if (result == 0) {
    follow_stamp(semaphore);
  }
  return result;
}

}  // namespace

// The shim's own waits for mutexes take no virtual time. Unlocks pass on `seen` and not `now`,
// which takes a system call: what the thread computed since it last read the clock is not passed
// on.

ISTHMUS_INTERPOSED int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  const int result = real_lock(mutex);
  if (result == 0 && !in_shim(__builtin_return_address(0))) {
    follow_stamp(mutex);
  }
  return result;
}

ISTHMUS_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (time_has_started() && !in_shim(__builtin_return_address(0))) {
    stamps.put(mutex, VirtualTime::seen());
  }
  return real_unlock(mutex);
}

ISTHMUS_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                               const timespec* time) noexcept {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_timed_lock(mutex, time);
  }
  return wait_for_mutex(mutex, CLOCK_REALTIME, time);
}

ISTHMUS_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                               const timespec* time) noexcept {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_clock_lock(mutex, clock, time);
  }
  return wait_for_mutex(mutex, clock, time);
}

ISTHMUS_INTERPOSED int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  const int result = real_read_lock(lock);
  follow_stamp(lock);
  return result;
}

ISTHMUS_INTERPOSED int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  const int result = real_write_lock(lock);
  follow_stamp(lock);
  return result;
}

ISTHMUS_INTERPOSED int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (time_has_started()) {
    stamps.put(lock, VirtualTime::seen());
  }
  return real_rwlock_unlock(lock);
}

ISTHMUS_INTERPOSED int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                  const timespec* time) noexcept {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_timed_read_lock(lock, time);
  }
  return wait_for_rwlock(lock, CLOCK_REALTIME, time, real_timed_read_lock);
}

ISTHMUS_INTERPOSED int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                  const timespec* time) noexcept {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_timed_write_lock(lock, time);
  }
  return wait_for_rwlock(lock, CLOCK_REALTIME, time, real_timed_write_lock);
}

ISTHMUS_INTERPOSED int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* time) noexcept {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_clock_read_lock(lock, clock, time);
  }
  return wait_for_rwlock(lock, clock, time, real_timed_read_lock);
}

ISTHMUS_INTERPOSED int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* time) noexcept {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_clock_write_lock(lock, clock, time);
  }
  return wait_for_rwlock(lock, clock, time, real_timed_write_lock);
}

ISTHMUS_INTERPOSED int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  put_stamp(barrier);
  const int result = real_barrier_wait(barrier);
  follow_stamp(barrier);
  return result;
}

ISTHMUS_INTERPOSED int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* time) {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_timed_join(thread, value, time);
  }
  return wait_for_thread(thread, value, CLOCK_REALTIME, time);
}

ISTHMUS_INTERPOSED int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                                            const timespec* time) {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_clock_join(thread, value, clock, time);
  }
  return wait_for_thread(thread, value, clock, time);
}

ISTHMUS_INTERPOSED int sem_post(sem_t* semaphore) noexcept {
  put_stamp(semaphore);
  return real_post(semaphore);
}

ISTHMUS_INTERPOSED int sem_wait(sem_t* semaphore) {
  const int result = real_untimed_sem_wait(semaphore);
  follow_stamp(semaphore);
  return result;
}

ISTHMUS_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  if (!is_known(clock) || !is_time(time) || !follows(__builtin_return_address(0))) {
    return real_sem_wait(semaphore, clock, time);
  }
  return wait_for_semaphore(semaphore, clock, time);
}

ISTHMUS_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* time) {
  if (!is_time(time) || !follows(__builtin_return_address(0))) {
    return real_sem_wait(semaphore, CLOCK_REALTIME, time);
  }
  return wait_for_semaphore(semaphore, CLOCK_REALTIME, time);
}

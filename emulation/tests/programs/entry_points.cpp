// Entry points of glibc that take or return time, called as programs call them that were compiled
// with checks or do not use C++'s own. Prints one JSON object: seconds of the program's time.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <threads.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <shared_mutex>
#include <string>
#include <thread>

#include "on_card.hpp"

extern "C" int __poll_chk(pollfd* files, nfds_t count, int milliseconds, std::size_t bytes);
extern "C" int __ppoll_chk(pollfd* files, nfds_t count, const timespec* time, const sigset_t* mask,
                           std::size_t bytes);

namespace {

using namespace std::chrono_literals;

constexpr timespec tenth{.tv_sec = 0, .tv_nsec = 100'000'000};

timespec in_a_tenth() {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += tenth.tv_nsec;
  end.tv_sec += end.tv_nsec / 1'000'000'000;
  end.tv_nsec %= 1'000'000'000;
  return end;
}

void waits(const Arguments& arguments) {
  const Card card(arguments[0]);
  int ends[2];
  if (pipe(ends) != 0) {
    return;
  }
  std::array<pollfd, 1> files = {pollfd{.fd = ends[0], .events = POLLIN, .revents = 0}};
  tell("poll_chk", lasted([&] { __poll_chk(files.data(), 1, 100, sizeof(files)); }));
  tell("ppoll_chk", lasted([&] { __ppoll_chk(files.data(), 1, &tenth, nullptr, sizeof(files)); }));
  const int epoll = epoll_create1(0);
  epoll_event event{};
  tell("epoll_pwait2", lasted([&] { epoll_pwait2(epoll, &event, 1, &tenth, nullptr); }));
  tell("thrd_sleep", lasted([&] { thrd_sleep(&tenth, nullptr); }));
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  tell("sigtimedwait", lasted([&] { sigtimedwait(&signals, nullptr, &tenth); }));
  std::shared_timed_mutex lock;
  lock.lock();
  std::thread([&lock] {
    tell("rwlock_read", lasted([&] { lock.try_lock_shared_for(100ms); }));
    tell("rwlock_write", lasted([&] { lock.try_lock_for(100ms); }));
  }).join();
  lock.unlock();
  std::thread slow([] { compute(0.3); });
  const timespec end = in_a_tenth();
  tell("timedjoin", lasted([&] { pthread_timedjoin_np(slow.native_handle(), nullptr, &end); }));
  slow.join();
  const clock_t before = times(nullptr);
  thrd_sleep(&tenth, nullptr);
  tell("times",
       static_cast<double>(times(nullptr) - before) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  timeb now{};
  ftime(&now);
  tell("ftime", seconds(CLOCK_REALTIME) -
                    (static_cast<double>(now.time) + 1e-3 * static_cast<double>(now.millitm)));
}

/// More microseconds than a second has, none, and less than none: what `select` says and leaves.
void select_times(const std::string& when) {
  const auto selected = [&](const std::string& name, timeval time) {
    errno = 0;
    const int result = select(0, nullptr, nullptr, nullptr, &time);
    tell(when + name, result == 0 ? 0 : errno);
    tell(when + name + "_left", static_cast<double>(time.tv_usec));
  };
  tell(when + "seconds", lasted([&] { selected("many", {.tv_sec = 0, .tv_usec = 1'100'000}); }));
  selected("none", {.tv_sec = 0, .tv_usec = 0});
  selected("negative", {.tv_sec = 0, .tv_usec = -1});
}

void select_all(const Arguments& arguments) {
  select_times("before_");
  const Card card(arguments[0]);
  select_times("after_");
}

void zone(const Arguments& arguments) {
  const auto left = [](const char* when) {
    struct timezone zone{.tz_minuteswest = 77, .tz_dsttime = 78};
    timeval time{};
    gettimeofday(&time, &zone);
    tell(when, zone.tz_minuteswest + zone.tz_dsttime);
  };
  left("before");
  const Card card(arguments[0]);
  left("after");
}

/// Waits on clocks that glibc's waits do not know, or that no clock has: what they return.
void clocks(const Arguments& arguments) {
  const Card card(arguments[0]);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  sem_t semaphore{};
  sem_init(&semaphore, 0, 0);
  const timespec past{.tv_sec = 1, .tv_nsec = 0};
  for (const clockid_t clock : {-1'000'000, -1, int{CLOCK_PROCESS_CPUTIME_ID}, 12, 1'000'000}) {
    pthread_mutex_lock(&mutex);
    tell("condition_" + std::to_string(clock),
         pthread_cond_clockwait(&condition, &mutex, clock, &past));
    pthread_mutex_unlock(&mutex);
    const int result = sem_clockwait(&semaphore, clock, &past);
    tell("semaphore_" + std::to_string(clock), result == 0 ? 0 : errno);
  }
}

/// An array that is shorter than its count says: glibc ends the program (SIGABRT).
void overflow(const Arguments& arguments) {
  const Card card(arguments[0]);
  std::array<pollfd, 2> files{};
  __poll_chk(files.data(), 2, 0, sizeof(pollfd));
  tell("went_on", 1);
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"waits", waits},
              {"select", select_all},
              {"zone", zone},
              {"clocks", clocks},
              {"overflow", overflow}});
}

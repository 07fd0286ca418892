// Threads that wait beside calls into a card, in each way that could stop them for ever or show a
// wrong time. Prints one JSON object.
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xrt/experimental/xrt_queue.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "on_card.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t MiB = std::size_t{1} << 20U;

/// Whether this thread is given memory.
thread_local bool has_memory = true;
/// What it does before it is given memory next.
thread_local const std::function<void()>* before_memory = nullptr;

/// Calls under a mutex for which a worker waits again and again, a millisecond each.
void lock_held(const Arguments& arguments) {
  Card card(arguments[0]);
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread worker([&] {
    for (std::unique_lock lock(mutex); !stop;) {
      wake.wait_for(lock, 1ms);
    }
  });
  xrt::bo buffer(card.device, 64 * MiB, 0);
  std::memset(buffer.map<char*>(), 1, 64 * MiB);
  int calls = 0;
  for (; calls < 5; ++calls) {
    const std::lock_guard lock(mutex);
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  worker.join();
  tell("calls", calls);
}

/// Children made while another thread runs kernels: how many sleep and end.
void forks(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      run.start();
      run.wait();
    }
  });
  int ended = 0;
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(1000);
      _exit(7);
    }
    int status = 0;
    pid_t found = 0;
    for (const double end = wall_now() + 5; found == 0 && wall_now() < end;) {
      const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
      syscall(SYS_nanosleep, &pause, nullptr);
      found = waitpid(child, &status, WNOHANG);
    }
    if (found == 0) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    ended += found == child && WEXITSTATUS(status) == 7 ? 1 : 0;
  }
  stop = true;
  worker.join();
  tell("ended", ended);
}

/// Signal handlers that read a clock, while the thread that they interrupt does.
void signals(const Arguments& arguments) {
  const Card card(arguments[0]);
  struct sigaction action{};
  action.sa_handler = [](int) { seconds(CLOCK_MONOTONIC); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval often{.it_interval = {0, 200}, .it_value = {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (const double end = wall_now() + 3; wall_now() < end;) {
    seconds(CLOCK_MONOTONIC);
  }
  often = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  tell("ended", 1);
}

/// Seconds that a timed wait takes for a thread that computes 0.3 s.
void semaphore(const Arguments& arguments) {
  const Card card(arguments[0]);
  sem_t done;
  sem_init(&done, 0, 0);
  const double began = seconds(CLOCK_MONOTONIC);
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 100;
  std::thread worker([&] {
    compute(0.3);
    sem_post(&done);
  });
  while (sem_timedwait(&done, &end) != 0) {
  }
  const double took = seconds(CLOCK_MONOTONIC) - began;
  worker.join();
  tell("seconds", took);
}

void timed_mutex(const Arguments& arguments) {
  const Card card(arguments[0]);
  std::timed_mutex mutex;
  std::promise<void> locked;
  const double began = seconds(CLOCK_MONOTONIC);
  std::thread worker([&] {
    const std::lock_guard lock(mutex);
    locked.set_value();
    compute(0.3);
    seconds(CLOCK_MONOTONIC);
  });
  locked.get_future().wait();
  const bool got = mutex.try_lock_for(100s);
  const double took = seconds(CLOCK_MONOTONIC) - began;
  worker.join();
  tell("seconds", got ? took : -1);
}

/// Waits of a day, and for ever, for kernels that end at once: how many are over too early.
void far_deadlines(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  int early = 0;
  for (int i = 0; i < 100; ++i) {
    std::promise<void> done;
    auto future = done.get_future();
    run.start();
    std::thread worker([&] {
      run.wait();
      done.set_value();
    });
    const auto state = i % 2 == 0 ? future.wait_for(24h)
                                  : future.wait_until(std::chrono::steady_clock::time_point::max());
    early += state == std::future_status::ready ? 0 : 1;
    worker.join();
  }
  tell("early", early);
}

/// Seconds that `select` leaves of five after a quarter, before a card is open.
void select_before(const Arguments& /*none*/) {
  int ends[2];
  if (pipe(ends) != 0) {
    return;
  }
  std::thread worker([&] {
    usleep(250'000);
    static_cast<void>(write(ends[1], "x", 1));
  });
  fd_set wanted;
  FD_ZERO(&wanted);
  FD_SET(ends[0], &wanted);
  timeval left{.tv_sec = 5, .tv_usec = 0};
  select(ends[0] + 1, &wanted, nullptr, nullptr, &left);
  worker.join();
  tell("left", static_cast<double>(left.tv_sec) + 1e-6 * static_cast<double>(left.tv_usec));
}

/// Two threads open a card each, in turn, for XRT's shim fails at once; one card is closed long
/// before the other.
void two_cards(const Arguments& arguments) {
  std::promise<void> closed;
  int calls = 0;
  std::mutex mutex;
  const auto use = [&](unsigned index) {
    xrt::device device;
    {
      const std::lock_guard lock(mutex);
      device = xrt::device(index);
      device.load_xclbin(arguments[0]);
    }
    const auto copy = [&] {
      xrt::bo buffer(device, MiB, 0);
      buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      const std::lock_guard lock(mutex);
      ++calls;
    };
    copy();
    if (index == 1) {
      closed.get_future().wait();
      copy();
    }
  };
  std::thread second([&] { use(1); });
  use(0);
  closed.set_value();
  second.join();
  tell("calls", calls);
}

/// Seconds that a task of a queue of XRT's takes which runs kernels and computes 0.2 s.
void queue_of_tasks(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  xrt::queue queue;
  tell("seconds", lasted([&] {
         queue
             .enqueue([&] {
               for (int i = 0; i < 100; ++i) {
                 run.start();
                 run.wait();
               }
               compute(0.2);
             })
             .wait();
       }));
}

/// Seconds of 0.2 that a thread computes after XRT has thrown where it was to start a kernel.
void refused_start(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  bool thrown = false;
  has_memory = false;
  try {
    run.start();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  has_memory = true;
  const double took = lasted([] { compute(0.2); });
  tell("seconds", thrown ? took : -1);
}

/// A kernel is opened while XRT is about to start one: how many of those that are started so end.
void opened_meanwhile(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto opened = [&card] { return xrt::kernel(card.device, card.uuid, "isthmus_empty"); };
  opened();  // from then on XRT makes a queue for each kernel that is opened
  int ended = 0;
  for (; ended < 20; ++ended) {
    xrt::kernel kernel = opened();
    xrt::run run(kernel);
    const std::function<void()> open = [&opened] { std::thread(opened).join(); };
    before_memory = &open;
    run.start();
    run.wait();
  }
  tell("ended", ended);
}

/// Seconds after which a thread goes on that waits for the end of `main`'s, which computes 0.3 s.
void end_of_main(const Arguments& arguments) {
  static const Card card(arguments[0]);  // its end would take time, too
  const double began = seconds(CLOCK_MONOTONIC);
  std::thread([began, main = pthread_self()] {
    pthread_join(main, nullptr);
    tell("seconds", seconds(CLOCK_MONOTONIC) - began);
    print();
    std::fflush(stdout);
    std::_Exit(0);
  }).detach();
  compute(0.3);
  pthread_exit(nullptr);
}

}  // namespace

/// XRT's library has it from here, too.
void* operator new(std::size_t bytes) {
  if (const auto* const act = std::exchange(before_memory, nullptr)) {
    (*act)();
  }
  void* const found = has_memory ? std::malloc(bytes) : nullptr;
  if (found == nullptr) {
    throw std::bad_alloc();
  }
  return found;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

int main(int count, char** given) {
  return act(count, given,
             {{"lock_held", lock_held},
              {"forks", forks},
              {"signals", signals},
              {"semaphore", semaphore},
              {"timed_mutex", timed_mutex},
              {"far_deadlines", far_deadlines},
              {"select_before", select_before},
              {"two_cards", two_cards},
              {"queue_of_tasks", queue_of_tasks},
              {"refused_start", refused_start},
              {"opened_meanwhile", opened_meanwhile},
              {"end_of_main", end_of_main}});
}

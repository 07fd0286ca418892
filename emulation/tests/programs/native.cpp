// What a program sees of time on an emulated card, through XRT's native API. Prints one JSON
// object.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "on_card.hpp"

namespace {

constexpr std::size_t mebibyte = 1 << 20;

/// A kernel that runs for long: it reads a buffer on the card again and again.
struct LongRun {
  xrt::kernel kernel;
  xrt::bo buffer;
  xrt::run run;

  LongRun(Card& card, std::int64_t sweeps)
      : kernel(card.device, card.uuid, "read_bandwidth"),
        buffer(card.device, mebibyte, 0),
        run(kernel) {
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    run.set_arg(0, buffer);
    run.set_arg(1, static_cast<std::int64_t>(mebibyte));
    run.set_arg(2, sweeps);
  }
};

/// Copies to the card, one after another; what they take.
double copies(Card& card, std::size_t bytes, int count) {
  xrt::bo buffer(card.device, bytes, 0);
  std::fill_n(buffer.map<char*>(), bytes, 'x');
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return lasted([&] {
    for (int i = 0; i < count; ++i) {
      buffer.sync(i % 2 == 0 ? XCL_BO_SYNC_BO_TO_DEVICE : XCL_BO_SYNC_BO_FROM_DEVICE);
    }
  });
}

/// Copies while so many threads wait for a kernel; and the threads, which go on after it.
void crowd(const Arguments& arguments) {
  Card card(arguments[0]);
  LongRun kernel(card, 4096);
  kernel.run.start();
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::stoi(arguments[1]); ++i) {
    threads.emplace_back([&] {
      kernel.run.wait();
      ++ended;
    });
  }
  const double began = wall_now();
  tell("copies", copies(card, 64 << 10, 100));
  tell("copies_wall", wall_now() - began);
  for (std::thread& thread : threads) {
    thread.join();
  }
  tell("ended", ended);
}

/// The median of batches, for between two calls the program may lose its processor.
void copying(const Arguments& arguments) {
  constexpr std::size_t batches = 21;
  Card card(arguments[0]);
  std::array<double, batches> took{};
  std::generate(took.begin(), took.end(), [&] { return copies(card, 64 << 10, 100); });
  std::sort(took.begin(), took.end());
  tell("copies", took[batches / 2]);
}

void computing(const Arguments& arguments) {
  const double wall = wall_now();
  const double before_card = lasted([] { compute(0.2); });
  Card card(arguments[0]);
  const double with_card = lasted([] { compute(0.2); });
  tell("wall", wall_now() - wall);
  tell("before", before_card);
  tell("with", with_card);
}

void overlapping(const Arguments& arguments) {
  Card card(arguments[0]);
  LongRun kernel(card, 4096);
  const auto run = [&](double computing) {
    return lasted([&] {
      kernel.run.start();
      compute(computing);
      kernel.run.wait();
    });
  };
  run(0);
  const double wall = wall_now();
  const double alone = run(0);
  tell("alone_wall", wall_now() - wall);
  tell("alone", alone);
  tell("half", run(alone / 2));
  tell("twice", run(2 * alone));
}

/// A wait in C, whose deadline is on the clock that the condition was made with.
void wait_for_condition(clockid_t clock, const timespec& end) {
  pthread_condattr_t attributes{};
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, clock);
  pthread_cond_t condition{};
  pthread_cond_init(&condition, &attributes);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  while (pthread_cond_timedwait(&condition, &mutex, &end) == 0) {
  }
  pthread_mutex_unlock(&mutex);
  pthread_cond_destroy(&condition);
}

/// Every way to wait for a while, each for a third of a kernel's run.
void waiting(const Arguments& arguments) {
  Card card(arguments[0]);
  LongRun kernel(card, 4096);
  kernel.run.start();
  kernel.run.wait();
  const double whole = lasted([&] {
    kernel.run.start();
    kernel.run.wait();
  });
  tell("whole", whole);
  const auto third = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(whole / 3));
  const auto ms = static_cast<int>(third.count());
  tell("third", ms * 1e-3);
  const timespec time{.tv_sec = 0, .tv_nsec = ms * 1'000'000};
  const auto until = [&time](clockid_t clock) {
    timespec end{};
    clock_gettime(clock, &end);
    end.tv_nsec += time.tv_nsec;
    end.tv_sec += end.tv_nsec / 1'000'000'000;
    end.tv_nsec %= 1'000'000'000;
    return end;
  };
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    std::abort();
  }
  std::mutex mutex;
  std::timed_mutex taken;
  std::promise<void> is_taken;
  std::promise<void> release;
  std::thread owner([&] {
    const std::lock_guard lock(taken);
    is_taken.set_value();
    release.get_future().wait();
  });
  is_taken.get_future().wait();
  std::condition_variable condition;
  std::promise<void> never;
  sem_t semaphore{};
  sem_init(&semaphore, 0, 0);
  const std::vector<std::pair<std::string, std::function<void()>>> waits = {
      {"sleep_for", [&] { std::this_thread::sleep_for(third); }},
      {"usleep", [&] { usleep(static_cast<useconds_t>(ms) * 1000); }},
      {"clock_nanosleep",
       [&] {
         const timespec end = until(CLOCK_MONOTONIC);
         clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
       }},
      {"condition",
       [&] {
         std::unique_lock lock(mutex);
         condition.wait_for(lock, third, [] { return false; });
       }},
      {"condition_monotonic", [&] { wait_for_condition(CLOCK_MONOTONIC, until(CLOCK_MONOTONIC)); }},
      {"condition_realtime", [&] { wait_for_condition(CLOCK_REALTIME, until(CLOCK_REALTIME)); }},
      {"mutex", [&] { static_cast<void>(taken.try_lock_for(third)); }},
      {"mutex_of_c",
       [&] {
         const timespec end = until(CLOCK_REALTIME);
         pthread_mutex_timedlock(taken.native_handle(), &end);
       }},
      {"future", [&] { never.get_future().wait_for(third); }},
      {"semaphore",
       [&] {
         const timespec end = until(CLOCK_REALTIME);
         sem_timedwait(&semaphore, &end);
       }},
      {"poll",
       [&] {
         pollfd file{.fd = ends[0], .events = POLLIN, .revents = 0};
         poll(&file, 1, ms);
       }},
      {"select",
       [&] {
         fd_set files;
         FD_ZERO(&files);
         FD_SET(ends[0], &files);
         timeval left{.tv_sec = 0, .tv_usec = ms * 1000};
         select(ends[0] + 1, &files, nullptr, nullptr, &left);
       }},
      {"epoll",
       [&] {
         epoll_event event{};
         epoll_wait(epoll_create1(0), &event, 1, ms);
       }},
  };
  for (const auto& [name, wait] : waits) {
    kernel.run.start();
    tell(name, lasted(wait));
    kernel.run.wait();
  }
  release.set_value();
  owner.join();
}

/// Waits whose end is there before they begin.
void expired(const Arguments& arguments) {
  Card card(arguments[0]);
  std::mutex mutex;
  std::condition_variable condition;
  bool got = false;
  std::unique_lock lock(mutex);
  std::thread other([&] {
    const std::lock_guard own(mutex);
    got = true;
  });
  const double limit = wall_now() + 20;
  while (!got && wall_now() < limit) {
    condition.wait_until(lock, std::chrono::steady_clock::now() - std::chrono::seconds(1));
  }
  tell("mutex_given_up", got ? 1 : 0);
  lock.unlock();
  other.join();
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0 || write(ends[1], "x", 1) != 1) {
    std::abort();
  }
  pollfd file{.fd = ends[0], .events = POLLIN, .revents = 0};
  const timespec least{.tv_sec = 0, .tv_nsec = 1};
  int ready = 0;
  for (int i = 0; i < 100; ++i) {
    ready += ppoll(&file, 1, &least, nullptr);
  }
  tell("ready", ready);
  std::timed_mutex free;
  tell("locked", free.try_lock_for(std::chrono::nanoseconds(1)) ? 1 : 0);
}

/// A kernel that runs for long after a thread was cancelled in a wait: nobody waits any more.
void cancelling(const Arguments& arguments) {
  Card card(arguments[0]);
  LongRun kernel(card, 1 << 17);
  pthread_t waiter{};
  const auto wait = [](void*) -> void* {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return nullptr;
  };
  pthread_create(&waiter, nullptr, wait, nullptr);
  compute(0.05);
  pthread_cancel(waiter);
  void* end = nullptr;
  pthread_join(waiter, &end);
  tell("cancelled", end == PTHREAD_CANCELED ? 1 : 0);
  compute(0.3);
  const double wall = wall_now();
  tell("run", lasted([&] {
         kernel.run.start();
         kernel.run.wait();
       }));
  tell("wall", wall_now() - wall);
}

/// Clocks in threads that look at them while another uses the card.
void looking(const Arguments& arguments) {
  Card card(arguments[0]);
  LongRun kernel(card, 16);
  std::atomic<bool> over = false;
  std::atomic<long> looks = 0;
  std::atomic<long> steps_back = 0;
  std::mutex mutex;
  double latest = 0;  // that a thread has told the others
  const auto look = [&](clockid_t clock) {
    const bool tells = clock == CLOCK_MONOTONIC;
    long count = 0;
    for (double own = 0; !over; ++count) {
      const double floor = own;
      timespec time{};
      clock_gettime(clock, &time);
      own = seconds(time);
      steps_back += own < floor ? 1 : 0;
      if (tells && count % 100 == 0) {
        const std::lock_guard lock(mutex);
        clock_gettime(clock, &time);
        own = seconds(time);
        steps_back += own < latest ? 1 : 0;
        latest = std::max(latest, own);
      }
    }
    looks += count;
  };
  std::vector<std::thread> threads;
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    threads.emplace_back(look, clock);
  }
  for (int i = 0; i < 5; ++i) {
    copies(card, 256 << 10, 10);
    kernel.run.start();
    kernel.run.wait();
  }
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  tell("looks", static_cast<double>(looks));
  tell("steps_back", static_cast<double>(steps_back));
}

/// Two cards, one after the other and at a time.
/// Two kernels, each on a unit of its own, started as soon as they are open: both at once, and one.
void two_units(const Arguments& arguments) {
  Card card(arguments[0]);
  const xrt::bo buffer(card.device, mebibyte, 0);
  std::vector<xrt::run> runs;
  for (const char* name : {"read_bandwidth", "write_bandwidth"}) {
    xrt::run& run = runs.emplace_back(xrt::kernel(card.device, card.uuid, name));
    run.set_arg(0, buffer);
    run.set_arg(1, static_cast<std::int64_t>(mebibyte));
    run.set_arg(2, std::int64_t{1000});
  }
  tell("both", lasted([&] {
         runs[0].start();
         runs[1].start();
         runs[0].wait();
         runs[1].wait();
       }));
  tell("one", lasted([&] {
         runs[0].start();
         runs[0].wait();
       }));
}

void two_cards(const Arguments& arguments) {
  Card first(arguments[0], 0);
  Card second(arguments[0], 1);
  LongRun one(first, 4096);
  LongRun two(second, 4096);
  tell("one", lasted([&] {
         one.run.start();
         one.run.wait();
       }));
  tell("both", lasted([&] {
         one.run.start();
         two.run.start();
         one.run.wait();
         two.run.wait();
       }));
}

/// A child of a fork that opens a card of its own, as the parent does later.
void forking(const Arguments& arguments) {
  const pid_t child = fork();
  if (child == 0) {
    Card card(arguments[0]);
    _exit(copies(card, 4096, 10) > 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  tell("child", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  Card card(arguments[0]);
  tell("parent", copies(card, 4096, 10));
}

/// Data through a kernel, summed: vadd, unless another one is named.
void adding(const Arguments& arguments) {
  constexpr std::size_t count = 1000;
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, arguments.size() > 1 ? arguments[1] : "vadd");
  std::array<xrt::bo, 3> buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i] = xrt::bo(card.device, count * sizeof(int), kernel.group_id(static_cast<int>(i)));
    int* const data = buffers[i].map<int*>();
    std::iota(data, data + count, 1);
    buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  auto run = kernel(buffers[0], buffers[1], buffers[2], static_cast<unsigned>(count));
  run.wait();
  buffers[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const sums = buffers[2].map<int*>();
  tell("sum", std::accumulate(sums, sums + count, 0.0));
}

/// Uses the card until somebody ends it.
void going_on(const Arguments& arguments) {
  Card card(arguments[0]);
  std::puts("running");
  std::fflush(stdout);
  for (;;) {
    copies(card, 4096, 10);
  }
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {
                 {"computing", computing},
                 {"copying", copying},
                 {"crowd", crowd},
                 {"overlapping", overlapping},
                 {"waiting", waiting},
                 {"looking", looking},
                 {"two_cards", two_cards},
                 {"two_units", two_units},
                 {"forking", forking},
                 {"adding", adding},
                 {"going_on", going_on},
                 {"cancelling", cancelling},
                 {"expired", expired},
             });
}

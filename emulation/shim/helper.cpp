#include "helper.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <string>

#include "card.hpp"
#include "faults.hpp"
#include "isthmus/card/process/real_time.hpp"

namespace isthmus::shim {
namespace {

/// Real time that the helper's thread sleeps between two looks at the cards.
constexpr std::timespec between_looks{.tv_sec = 0, .tv_nsec = 2'000'000};

std::atomic<bool> is_there = false;
std::mutex naming;
std::string running;  // guarded by `naming`
// When a kernel began to compute; zero: none computes.
std::atomic<std::chrono::nanoseconds> began{};
std::atomic<bool> has_warned = false;

void* help(void* /*none*/) {
  while (true) {
    nanosleep(&between_looks, nullptr);
    const std::chrono::nanoseconds since = began;
    if (since == std::chrono::nanoseconds::zero()) {
      Card::look();
    } else if (!has_warned && card::process::real_time() - since >=
                                  std::chrono::seconds(card::process::long_run_seconds)) {
      const std::scoped_lock guard(naming);
      has_warned = true;
      say(card::process::long_run(running));
    }
  }
}

}  // namespace

void start_helper() {
  static const bool forks = pthread_atfork(&Card::hold_all, &Card::release_all, [] {
                              Card::release_all_in_child();
                              is_there = false;
                              began = std::chrono::nanoseconds::zero();
                            }) == 0;
  static_cast<void>(forks);
  if (is_there.exchange(true)) {
    return;
  }
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, help, nullptr) == 0) {
    pthread_detach(thread);
  }
}

void WatchByHelper::begin(const std::string& instance, bool timed) {
  enter_kernel();
  if (timed) {
    start_helper();
    const std::scoped_lock guard(naming);
    running = instance;
    has_warned = false;
    began = card::process::real_time();
  }
}

bool WatchByHelper::end(bool timed) {
  leave_kernel();
  if (timed) {
    began = std::chrono::nanoseconds::zero();
  }
  return timed && has_warned;
}

}  // namespace isthmus::shim

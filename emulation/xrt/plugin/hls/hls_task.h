// Stands in for AMD's header of the name, where that is not there: functions that run for ever
// beside the one that made them, and wait for their streams. One of them runs at a time, until it
// waits: all this is one thread, and the same each time.
#pragma once

#include "isthmus_standard.h"

#include <hls_stream.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define hls_thread_local static

namespace hls {

/// So many words among tasks alone are taken for endless: minutes.
inline unsigned long long isthmus_most_in_vain = 1ULL << 30U;

/// A function with a stack of its own, which is called again and again.
class isthmus_turns {
 public:
  explicit isthmus_turns(std::function<void()> called) : called_(std::move(called)) {
    void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    constexpr std::size_t guard_bytes = 4096;  // a stack that overflows reaches this
    if (stack == MAP_FAILED || mprotect(stack, guard_bytes, PROT_NONE) != 0 ||
        getcontext(&here_) != 0) {
      throw std::runtime_error("no memory for a task");
    }
    here_.uc_stack.ss_sp = stack;
    here_.uc_stack.ss_size = stack_bytes;
    here_.uc_link = nullptr;
    makecontext(&here_, &isthmus_turns::begin, 0);
    all().there.push_back(this);
    isthmus_beside = &all();
  }
  isthmus_turns(const isthmus_turns&) = delete;
  isthmus_turns& operator=(const isthmus_turns&) = delete;
  ~isthmus_turns() {
    all().forget(this);
    munmap(here_.uc_stack.ss_sp, stack_bytes);
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{64} << 20U;  // what is touched counts

  struct All final : isthmus_tasks {
    std::vector<isthmus_turns*> there;
    isthmus_turns* running = nullptr;
    ucontext_t before{};  ///< where the function that made them goes on

    bool run_until(bool (*ready)(const void*), const void* what, bool outside, bool wait) override {
      if (running != nullptr) {
        running->wait(wait ? ready : nullptr, what, outside);
        return true;
      }
      unsigned long long most = isthmus_moved + isthmus_most_in_vain;
      unsigned long long crossed = isthmus_crossed;
      constexpr int patience = 100;  // turns of tasks that ask without waiting, and move nothing
      for (int vain = 0;;) {
        if (ready(what)) {
          return true;
        }
        const unsigned long long moved = isthmus_moved;
        bool asks = false;
        bool for_others = false;
        for (std::size_t n = 0; n < there.size(); ++n) {
          there[n]->go_on();
          asks = asks || there[n]->ready_ == nullptr;
          for_others = for_others || there[n]->outside_;
        }
        if (crossed != isthmus_crossed) {
          crossed = isthmus_crossed;
          most = isthmus_moved + isthmus_most_in_vain;
        } else if (isthmus_moved > most) {
          throw std::runtime_error(
              "tasks pass words among themselves without end, while the kernel waits for a word "
              "that none of them writes");
        }
        vain = isthmus_moved == moved ? vain + 1 : 0;
        if (vain >= (asks ? patience : 1)) {
          return ready(what) || (wait && for_others);
        }
      }
    }
    void forget(const isthmus_turns* one) {
      for (std::size_t n = 0; n < there.size(); ++n) {
        if (there[n] == one) {
          there.erase(there.begin() + static_cast<std::ptrdiff_t>(n));
          break;
        }
      }
      isthmus_beside = there.empty() ? nullptr : this;
    }
  };
  static All& all() {
    static All* const made = new All;  // outlives all tasks
    return *made;
  }

  void go_on() {
    if (ready_ != nullptr && !ready_(what_)) {
      return;
    }
    ready_ = nullptr;
    outside_ = false;
    all().running = this;
    swapcontext(&all().before, &here_);
    all().running = nullptr;
    if (failed_) {
      std::rethrow_exception(std::exchange(failed_, nullptr));
    }
  }
  void wait(bool (*ready)(const void*), const void* what, bool outside) {
    ready_ = ready;
    what_ = what;
    outside_ = outside;
    swapcontext(&here_, &all().before);
  }
  static void begin() {
    isthmus_turns& self = *all().running;
    for (;;) {
      const unsigned long long moved = isthmus_moved;
      try {
        self.called_();
      } catch (...) {
        self.failed_ = std::current_exception();
      }
      if (self.failed_ || isthmus_moved == moved) {
        self.wait(nullptr, nullptr, false);
      }
    }
  }

  std::function<void()> called_;
  ucontext_t here_{};
  bool (*ready_)(const void*) = nullptr;  ///< what it waits for
  const void* what_ = nullptr;
  bool outside_ = false;
  std::exception_ptr failed_;
};

/// `function(arguments...)`, again and again; references lead to what was there first.
class task {
 public:
  task() = default;
  template <class Result, class... Types, class... Given>
  task(Result (*function)(Types...), Given&&... given) {
    (*this)(function, std::forward<Given>(given)...);
  }
  /// Begins it, where that is not yet done.
  template <class Result, class... Types, class... Given>
  void operator()(Result (*function)(Types...), Given&&... given) {
    if (turns_ == nullptr) {
      using Arguments = std::tuple<Types...>;
      auto arguments = std::make_shared<Arguments>(std::forward<Given>(given)...);
      turns_ = std::make_unique<isthmus_turns>(
          [function, arguments] { std::apply(function, *arguments); });
    }
  }

 private:
  std::unique_ptr<isthmus_turns> turns_;
};

}  // namespace hls

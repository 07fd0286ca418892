// Functions with separate stacks, which take turns in one thread: tasks (hls_task.h), and processes
// of DATAFLOW regions. Each runs until it waits, so all runs are equal.
#pragma once

#include "isthmus_standard.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hls_stream.h"

namespace hls {

class isthmus_turns;

/// Most words that tasks may pass among themselves while the kernel waits: some minutes of
/// computing. More words count as endless.
inline unsigned long long isthmus_most_in_vain = 1ULL << 30U;

/// Trail (phases.hpp) of the running function, for the loop counters.
inline void* isthmus_trail = nullptr;
/// Makes room in a full stream if no process can go on; returns whether it did (processes.cpp).
inline bool (*isthmus_relieve)(const std::vector<isthmus_turns*>& there) = nullptr;

/// A function with its own stack. The function of a task is called again and again, that of a
/// process once.
class isthmus_turns {
 public:
  explicit isthmus_turns(std::function<void()> called, std::string process = "")
      : process_(std::move(process)), called_(std::move(called)), stack_(take_stack()) {
    if (getcontext(&first_) != 0) {
      throw std::runtime_error("no memory for a task");
    }
    first_.uc_stack.ss_sp = stack_;
    first_.uc_stack.ss_size = stack_bytes;
    first_.uc_link = nullptr;
    makecontext(&first_, &isthmus_turns::begin, 0);
    all().there.push_back(this);
    isthmus_beside = &all();
  }
  isthmus_turns(const isthmus_turns&) = delete;
  isthmus_turns& operator=(const isthmus_turns&) = delete;
  ~isthmus_turns() {
    all().forget(this);
    kept_stacks().push_back(stack_);
  }

  /// Resumes the function until it waits or ends; does nothing while its wait is not over. Throws
  /// what the function throws.
  void go_on() {
    if (is_done_ || (waits_.ready != nullptr && !waits_.ready(waits_.what))) {
      return;
    }
    waits_ = {};
    isthmus_turns* const outer = std::exchange(all().running, this);
    void* const trail = std::exchange(isthmus_trail, trail_);
    change(&back_[0], has_begun_ ? &here_[0] : nullptr, first_);
    trail_ = std::exchange(isthmus_trail, trail);
    all().running = outer;
    if (failed_) {
      std::rethrow_exception(std::exchange(failed_, nullptr));
    }
  }

  [[nodiscard]] bool is_done() const { return is_done_; }
  /// Returns the process's name and line, "split (line 12)"; empty for a task.
  [[nodiscard]] const std::string& process() const { return process_; }
  [[nodiscard]] const isthmus_wait& waits() const { return waits_; }
  isthmus_pipeline& pipeline() { return pipeline_; }
  static isthmus_tasks& others() { return all(); }

  /// Waits until all words in the running process's pipeline are in their streams.
  static void empty_pipeline() {
    isthmus_pipeline* const pipeline = all().pipeline();
    const auto is_empty = [](const void* what) {
      isthmus_pipeline& one = **static_cast<isthmus_pipeline* const*>(what);
      one.advance();
      return one.held == 0;
    };
    while (pipeline != nullptr && !is_empty(&pipeline)) {
      all().run_until({is_empty, &pipeline}, true);
    }
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{64}
                                             << 20U;  // only accessed pages take memory
  static constexpr std::size_t guard_bytes = 4096;    ///< no access: a stack overflow ends there
  using Place = void* [5];                            ///< buffer of __builtin_setjmp

  struct All final : isthmus_tasks {
    std::vector<isthmus_turns*> there;
    isthmus_turns* running = nullptr;

    [[nodiscard]] ISTHMUS_UNCOUNTED isthmus_pipeline* pipeline() override {
      const bool is_process = running != nullptr && !running->process_.empty();
      return is_process ? &running->pipeline_ : nullptr;
    }

    bool run_until(const isthmus_wait& what, bool wait) override {
      if (running != nullptr) {
        running->wait(wait ? what : isthmus_wait{});
        return true;
      }
      unsigned long long most = isthmus_moved + isthmus_most_in_vain;
      unsigned long long crossed = isthmus_crossed;
      for (int vain = 0;;) {
        if (what.ready(what.what)) {
          return true;
        }
        const Turn turn = every_turn();
        if (crossed != isthmus_crossed || turn.processes) {
          crossed = isthmus_crossed;
          most = isthmus_moved + isthmus_most_in_vain;
        } else if (isthmus_moved > most) {
          throw std::runtime_error(
              "tasks pass words among themselves without end, while the kernel waits for a word "
              "that none of them writes");
        }
        vain = turn.went_on ? 0 : vain + 1;
        if (vain < patience(turn)) {
          continue;
        }
        if (wait && !turn.outside.empty()) {
          if (!turn.asks) {
            const isthmus_wait& one = what.outside != nullptr ? what : turn.outside[0];
            one.outside->wait_for(one, turn.outside);
          } else if (what.outside != nullptr) {
            return true;  // another kernel may be what other functions wait for
          }
        } else if (isthmus_relieve == nullptr || !isthmus_relieve(there)) {
          if (!wait || !turn.asks || !turn.processes) {
            return what.ready(what.what);
          }
        }
        vain = 0;
      }
    }

    /// What happened when each function had its turn once.
    struct Turn {
      bool went_on = false;
      bool asks = false;                  ///< whether a function asks without waiting
      bool processes = false;             ///< whether a function is a process
      std::vector<isthmus_wait> outside;  ///< what functions wait for at other kernels
    };
    Turn every_turn() {
      Turn turn;
      const unsigned long long moved = isthmus_moved;
      for (std::size_t n = 0; n < there.size(); ++n) {
        isthmus_turns& one = *there[n];
        const bool was_done = one.is_done_;
        one.go_on();
        if (one.is_done_) {
          turn.went_on = turn.went_on || !was_done;
          continue;
        }
        turn.asks = turn.asks || one.waits_.ready == nullptr;
        turn.processes = turn.processes || !one.process_.empty();
        if (one.waits_.outside != nullptr) {
          turn.outside.push_back(one.waits_);
        }
      }
      turn.went_on = turn.went_on || isthmus_moved != moved;
      return turn;
    }
    /// Returns how many turns without a move prove that nothing will move. A function that asks
    /// without waiting may count its questions, and move or end after some number of them.
    static int patience(const Turn& turn) {
      constexpr int of_tasks = 100;
      constexpr int of_processes = 1'000'000;
      if (!turn.asks) {
        return 1;
      }
      return turn.processes ? of_processes : of_tasks;
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
    static All* const made = new All;  // never destroyed: tasks may end later
    return *made;
  }

  /// Stacks of ended functions, for reuse: a region in a loop makes its processes each time.
  static std::vector<void*>& kept_stacks() {
    static auto* const kept = new std::vector<void*>;
    return *kept;
  }
  static void* take_stack() {
    std::vector<void*>& kept = kept_stacks();
    if (!kept.empty()) {
      void* const stack = kept.back();
      kept.pop_back();
      return stack;
    }
    void* const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, guard_bytes, PROT_NONE) != 0) {
      throw std::runtime_error("no memory for a task");
    }
    return stack;
  }

  /// Switches to `to`, or to the begin `first`; returns when something switches to `from`.
  /// swapcontext would make a system call at each switch.
  [[gnu::noinline]] static void change(void** from, void** to, const ucontext_t& first) {
    if (__builtin_setjmp(from) == 0) {
      if (to == nullptr) {
        setcontext(&first);
      }
      jump(to);
    }
  }
  [[noreturn, gnu::noinline]] static void jump(void** to) { __builtin_longjmp(to, 1); }

  void wait(const isthmus_wait& what) {
    waits_ = what;
    change(&here_[0], &back_[0], first_);
  }
  static void begin() {
    isthmus_turns& self = *all().running;
    self.has_begun_ = true;
    for (;;) {
      const unsigned long long moved = isthmus_moved;
      try {
        self.called_();
      } catch (...) {
        self.failed_ = std::current_exception();
      }
      self.is_done_ = !self.process_.empty();
      if (self.is_done_ || self.failed_ || isthmus_moved == moved) {
        self.wait({});
      }
    }
  }

  std::string process_;
  std::function<void()> called_;
  void* stack_;
  ucontext_t first_{};
  Place here_{};
  Place back_{};
  bool has_begun_ = false;
  bool is_done_ = false;
  isthmus_wait waits_;
  isthmus_pipeline pipeline_;
  void* trail_ = nullptr;
  std::exception_ptr failed_;
};

}  // namespace hls

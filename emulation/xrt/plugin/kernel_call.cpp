// Runs a C++ function as a kernel: gives it copies of its buffers, counts its reads and writes, and
// ends it if it accesses other memory. This file is linked to each kernel. The compiler inserts
// calls of the functions __tsan_* into the kernel, because of -fsanitize=thread.
#include "isthmus/card/kernel_call.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hls/hls_stream.h"  // Isthmus' header, not AMD's
#include "isthmus/card/kernel_plugin.h"
#include "isthmus/card/unset_arguments.hpp"
#include "kernel_window.hpp"
#include "phases.hpp"
#include "processes.hpp"

namespace isthmus::card::plugin {

namespace {

const Kernel& kernel = isthmus_described;

/// Windows of the run that computes: only one computes at a time. A run that has waited at a stream
/// sets its windows again.
std::vector<Window>* windows = nullptr;
Window* latest = nullptr;
std::uint64_t lowest = 0;  ///< lowest address of any window
std::uint64_t beside = 0;  ///< bytes from `lowest` to the end of the highest window

/// Phases of the current run, if its kernel has an estimate.
Phases phases;

/// Texts for those arguments of the current run that were never set.
const std::vector<std::string>* unset = nullptr;
/// Whether an argument that was never set led to the fault that ended the run.
bool is_by_unset = false;

void watch(std::vector<Window>* those, const std::vector<std::string>* without) {
  windows = those;
  unset = without;
  latest = nullptr;
  lowest = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (const Window& window : *those) {
    const auto address = reinterpret_cast<std::uint64_t>(window.mapping);
    lowest = std::min(lowest, address);
    end = std::max(end, address + window.mapped);
  }
  beside = end > lowest ? end - lowest : 0;
}

/// Where this thread goes on if the kernel's code must end. Exceptions cannot pass through that
/// code, because the compiler assumes that inserted calls never throw.
thread_local sigjmp_buf* escape = nullptr;
thread_local std::array<char, 256> reason{};

[[noreturn]] void leave() {
  siglongjmp(*std::exchange(escape, nullptr), 1);  // NOLINT(cert-err52-cpp)
}

/// Does an action. If it throws, stores the exception's text in `reason` and returns false.
template <class Action>
bool done(const Action& action) {
  try {
    action();
    return true;
  } catch (const std::exception& error) {
    std::snprintf(reason.data(), reason.size(), "%s", error.what());
    return false;
  }
}

struct sigaction before_ours{};

/// Bytes beyond a stack's end in which a fault counts as a stack overflow, because variables of the
/// innermost function lie there. A program's stack usually has 8 MiB.
constexpr std::uint64_t largest_frame_bytes = std::uint64_t{8} << 20U;

/// Handles SIGSEGV and SIGBUS, which a kernel causes at a page without a copy, or outside of
/// buffers.
void on_fault(int number, siginfo_t* what, void* context) {
  const auto address = reinterpret_cast<std::uint64_t>(what->si_addr);
  if (escape == nullptr) {  // the fault is not in a kernel of this library
    if ((before_ours.sa_flags & SA_SIGINFO) != 0) {
      before_ours.sa_sigaction(number, what, context);
    } else {
      std::signal(number, SIG_DFL);
    }
    return;
  }
  constexpr int write_bit = 2;
  const bool write =
      (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
  for (Window& window : *windows) {
    if (address - reinterpret_cast<std::uint64_t>(window.mapping) < window.mapped) {
      if (!done([&] { window.fault(address, write); })) {
        leave();
      }
      return;
    }
  }
  const auto top =
      static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  if (address + page_bytes - top < largest_frame_bytes) {
    std::snprintf(reason.data(), reason.size(),
                  "its stack is full: its function calls itself without end, or has large arrays");
    leave();
  }
  // Addresses up to `guard_bytes` from 0, on both sides, come from a null pointer.
  const bool by_unset = !unset->empty() && address + guard_bytes < 2 * guard_bytes;
  is_by_unset = by_unset;
  const std::string why =
      by_unset ? unset_arguments(*unset) : "a null pointer, or the end of an array of its own";
  std::snprintf(reason.data(), reason.size(), "it %s 0x%llx, where nothing is: %s",
                write ? "writes to" : "reads from", static_cast<unsigned long long>(address),
                why.c_str());
  leave();
}

/// A stack for `on_fault` during a run, because the kernel's stack may have overflowed.
class FaultStack {
 public:
  FaultStack() : memory_(std::make_unique_for_overwrite<Memory>()) {
    const stack_t ours{.ss_sp = memory_->data(), .ss_flags = 0, .ss_size = memory_->size()};
    sigaltstack(&ours, &before_);
  }
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;
  ~FaultStack() { sigaltstack(&before_, nullptr); }

 private:
  using Memory = std::array<std::byte, std::size_t{64} << 10U>;
  std::unique_ptr<Memory> memory_;
  stack_t before_{};
};

void watch_faults() {
  static const bool once = [] {
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &ours, &before_ours) == 0;
  }();
  static_cast<void>(once);
}

void ignore() {
  windows = nullptr;
  latest = nullptr;
  beside = 0;
}

[[gnu::noinline]] void count_within(std::uint64_t address, std::uint64_t size, bool write) {
  const auto in = [address](const Window& window) {
    return address - reinterpret_cast<std::uint64_t>(window.mapping) < window.mapped;
  };
  if (latest == nullptr || !in(*latest)) {
    const auto found = std::ranges::find_if(*windows, in);
    if (found == windows->end()) {
      return;  // the kernel's own memory
    }
    latest = &*found;
  }
  if (!done([&] { latest->count(address, size, write); })) {
    leave();
  }
}

/// Counts an access, unless it is to the kernel's own memory, as most are: that test comes first.
inline void count(const volatile void* pointer, std::uint64_t size, bool write) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (address - lowest < beside) {
    count_within(address, size, write);
  }
}

constexpr std::size_t most_kept_windows = 16;
std::vector<WindowMemory> kept_windows;

class Run {
 public:
  explicit Run(isthmus_kernel_run& run) : run_(run) { windows_.reserve(kernel.count); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    ignore();
    for (Window& window : windows_) {
      window.unwritten.forget();
      std::byte* const before = window.before != nullptr ? window.before : window.before_room;
      if (window.is_reusable() && kept_windows.size() < most_kept_windows) {
        kept_windows.push_back(
            {.mapping = window.mapping, .mapped = window.mapped, .before = before});
        continue;
      }
      munmap(window.mapping, window.mapped);
      if (before != nullptr) {
        munmap(before, window.bytes);
      }
    }
  }

  void call() {
    // Without an estimate, only reads, writes and words take time. The card learns that before the
    // run, because the run may never end.
    const bool is_estimated = isthmus_estimated.is_time;
    run_.computing = is_estimated ? ISTHMUS_COMPUTING_ESTIMATED : ISTHMUS_COMPUTING_UNKNOWN;
    std::vector<std::size_t> words;  // index of each argument's first word
    std::size_t end = 0;
    for (std::size_t n = 0; n < kernel.count; ++n) {
      words.push_back(end);
      end += words_of(kernel.arguments[n].bytes);
    }
    std::vector<std::uint64_t> values(end + 1);
    const auto value = [&](std::size_t n) -> std::uint64_t& { return values[words[n]]; };
    std::vector<std::size_t> buffers;
    for (std::size_t n = 0; n < kernel.count; ++n) {
      const Argument& argument = kernel.arguments[n];
      std::memcpy(&value(n), run_.registers + argument.offset,
                  std::min(argument.bytes, run_.register_bytes - argument.offset));
      if (argument.kind == Kind::buffer) {
        if (value(n) == 0) {  // never set, or null: like on a board, a kernel may test for null
          unset_.push_back(std::to_string(n) + " (" + argument.name + ')');
        } else {
          buffers.push_back(n);
        }
      } else if (argument.kind == Kind::stream) {
        hls::isthmus_outside& outside = ends_.emplace_back(*this, static_cast<std::uint32_t>(n));
        value(n) = reinterpret_cast<std::uint64_t>(&outside);
      }
    }
    // The copy of a sub-buffer lies within that of the whole buffer, which is therefore made first.
    std::ranges::stable_sort(buffers, {}, value);
    for (const std::size_t n : buffers) {
      Window& window = window_of(kernel.arguments[n], value(n));
      if (kernel.arguments[n].writes) {
        window.remember();
      }
      value(n) = window.begin + (value(n) - window.card_address);
    }
    watch(&windows_, &unset_);
    phases.begin(windows_);
    call_kernel(values.data());
    ignore();
    for (const std::string& text : take_stops()) {
      check(run_.warn(run_.card, text.c_str(), ""));
    }
    for (Window& window : windows_) {
      window.find_written();
      finish(window, is_estimated);
    }
    if (is_estimated) {
      phases.finish(run_);
    }
    for (std::size_t n = 0; n < kernel.count; ++n) {
      const Argument& argument = kernel.arguments[n];
      if (argument.kind == Kind::result) {
        std::memcpy(run_.registers + argument.offset, &value(n), argument.bytes);
      }
    }
    run_.cycles = cycles();
  }

 private:
  static void call_kernel(std::uint64_t* values) {
    struct Left {
      ~Left() { escape = nullptr; }
    };
    const Left left;  // restores the state even if a stream throws
    watch_faults();
    const FaultStack for_faults;
    sigjmp_buf here;
    if (sigsetjmp(here, 1) != 0) {  // NOLINT(cert-err52-cpp)
      throw std::runtime_error(reason.data());
    }
    escape = &here;
    kernel.call(values);
    finish_tasks();
  }

  /// Lets the kernel's tasks (hls_task.h) run until all of them wait.
  static void finish_tasks() {
    if (hls::isthmus_beside != nullptr) {
      hls::isthmus_beside->run_until({[](const void* /*nothing*/) { return false; }}, false);
    }
  }

  /// A stream's end at another kernel; it moves one word a clock.
  class End final : public hls::isthmus_outside {
   public:
    End(Run& run, std::uint32_t argument) : run_(&run), argument_(argument) {}
    bool read(void* data, std::size_t bytes, void* sideband, std::size_t more, how wait) override {
      return moves(run_->run_.stream_read, {data, bytes, sideband, more}, wait);
    }
    bool write(void* data, std::size_t bytes, void* sideband, std::size_t more, how wait) override {
      return moves(run_->run_.stream_write, {data, bytes, sideband, more}, wait);
    }
    void wait_for(const hls::isthmus_wait& this_one,
                  const std::vector<hls::isthmus_wait>& others) override {
      std::vector<std::uint32_t> arguments;
      const auto add = [&arguments](const hls::isthmus_wait& wait) {
        // All of them are Ends. NOLINTNEXTLINE(*-pro-type-static-cast-downcast)
        arguments.push_back(static_cast<const End*>(wait.outside)->argument_);
      };
      add(this_one);
      std::ranges::for_each(others, add);
      const int answer = run_->run_.stream_wait(run_->run_.card, arguments.data(), arguments.size(),
                                                run_->cycles());
      watch(&run_->windows_, &run_->unset_);
      check(answer == ISTHMUS_STREAM_FAILED ? 1 : 0);
    }
    [[nodiscard]] std::uint64_t words() const { return words_; }

   private:
    bool moves(decltype(isthmus_kernel_run::stream_read) call, const isthmus_stream_word& word,
               how wait) {
      const int answer = call(run_->run_.card, argument_, &word, run_->cycles(), wait);
      watch(&run_->windows_, &run_->unset_);
      if (answer == ISTHMUS_STREAM_FAILED) {
        check(answer);
      }
      const bool done = answer == ISTHMUS_STREAM_DONE;
      words_ += done && wait != look ? 1 : 0;
      return done;
    }

    Run* run_;
    std::uint32_t argument_;
    std::uint64_t words_ = 0;
  };

  /// Returns the cycles of the port with most words, because all ports work at once.
  [[nodiscard]] std::uint64_t cycles() const {
    std::uint64_t most = 0;
    for (const Window& window : windows_) {
      most = std::max({most, window.reads.beats, window.writes.beats});
    }
    for (const End& end : ends_) {
      most = std::max(most, end.words());
    }
    return most;
  }

  /// Takes the memory of an earlier window with as many pages, and returns it; null if there is
  /// none.
  static void* take_kept(Window& window) {
    const auto found = std::ranges::find(kept_windows, window.mapped, &WindowMemory::mapped);
    if (found == kept_windows.end()) {
      return nullptr;
    }
    void* const mapping = found->mapping;
    window.is_open = true;
    window.before_room = found->before;
    kept_windows.erase(found);
    return mapping;
  }

  /// Returns the copy of an argument's buffer; two arguments with one buffer share a copy.
  Window& window_of(const Argument& argument, std::uint64_t address) {
    for (Window& window : windows_) {
      if (address - window.card_address < window.bytes) {
        return window;
      }
    }
    Window window;
    window.run = &run_;
    window.argument = &argument;
    window.alone = ends_.empty();
    window.card_address = address;
    window.bytes = run_.bytes_at(run_.card, address);
    window.mapped = whole_pages(window.bytes) + 2 * guard_bytes;
    void* mapping = take_kept(window);
    if (mapping == nullptr) {
      mapping = mmap(nullptr, window.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    }
    if (mapping == MAP_FAILED) {
      throw std::runtime_error("no memory for the buffer of argument " +
                               std::string(argument.name));
    }
    window.mapping = static_cast<std::byte*>(mapping);
    window.begin = reinterpret_cast<std::uint64_t>(mapping) + guard_bytes;
    windows_.push_back(window);
    windows_.back().start();
    return windows_.back();
  }

  /// Writes back the bytes that the run wrote, but no others: other runs may have written these
  /// while this run waited at a stream. Reports the moved bytes, unless phases report them. A run
  /// that accesses too many ranges has no exact bytes, and no races count for it.
  void finish(Window& window, bool is_estimated) const {
    const Pieces& read = window.read.all();
    if (window.read.is_exact()) {
      for (const auto& [begin, end] : read.ends()) {
        check(run_.read_between(run_.card, window.card_address + begin, end - begin));
      }
    }
    if (!is_estimated && window.reads.bytes > 0) {
      check(run_.moved(run_.card, window.card_address, window.reads.bytes, 0));
    }
    const auto store = window.reached.is_exact() ? run_.store : run_.store_around;
    for (const auto& [begin, end] : window.written.ends()) {
      check(store(run_.card, window.card_address + begin, window.copy() + begin, end - begin));
    }
    if (!is_estimated && window.writes.bytes > 0) {
      check(run_.moved(run_.card, window.card_address, window.writes.bytes, 1));
    }
  }

  isthmus_kernel_run& run_;
  std::vector<Window> windows_;
  std::vector<std::string> unset_;
  std::deque<End> ends_;  // elements of a deque keep their addresses
};

}  // namespace

void begin_loop(unsigned number) { phases.begin_loop(number); }
void end_loop(unsigned number, std::uint64_t times) { phases.end_loop(number, times); }
std::unique_ptr<Trail> begin_process(unsigned number) { return phases.begin_process(number); }
void end_region() { phases.end_region(); }

}  // namespace isthmus::card::plugin

extern "C" {

__attribute__((visibility("default"))) int isthmus_kernel(isthmus_kernel_run* run) {
  try {
    if (run->abi < 12) {
      throw std::runtime_error("it was built for a newer Isthmus");
    }
    isthmus::card::plugin::Run(*run).call();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(run->error, sizeof(run->error), "%s", error.what());
    return isthmus::card::plugin::is_by_unset ? ISTHMUS_UNSET_ARGUMENT : 1;
  }
}

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#define ISTHMUS_ACCESS(size)                                                          \
  void __tsan_read##size(void* at) { isthmus::card::plugin::count(at, size, false); } \
  void __tsan_write##size(void* at) { isthmus::card::plugin::count(at, size, true); } \
  void __tsan_read_write##size(void* at) {                                            \
    __tsan_read##size(at);                                                            \
    __tsan_write##size(at);                                                           \
  }                                                                                   \
  void __tsan_volatile_read##size(void* at) { __tsan_read##size(at); }                \
  void __tsan_volatile_write##size(void* at) { __tsan_write##size(at); }              \
  void __tsan_unaligned_volatile_read##size(void* at) { __tsan_read##size(at); }      \
  void __tsan_unaligned_volatile_write##size(void* at) { __tsan_write##size(at); }    \
  void __tsan_unaligned_read##size(void* at) { __tsan_read##size(at); }               \
  void __tsan_unaligned_write##size(void* at) { __tsan_write##size(at); }             \
  void __tsan_unaligned_read_write##size(void* at) { __tsan_read_write##size(at); }
ISTHMUS_ACCESS(1)
ISTHMUS_ACCESS(2)
ISTHMUS_ACCESS(4)
ISTHMUS_ACCESS(8)
ISTHMUS_ACCESS(16)

// Operations of std::atomic and std::shared_ptr. They are not atomic here, because one thread of
// the process computes at a time, and because atomic operations of 128 bits need libatomic.
#define ISTHMUS_BITS(bits) isthmus_bits_##bits
using isthmus_bits_8 = std::uint8_t;
using isthmus_bits_16 = std::uint16_t;
using isthmus_bits_32 = std::uint32_t;
using isthmus_bits_64 = std::uint64_t;
__extension__ using isthmus_bits_128 = unsigned __int128;
// `operation` computes the new value from `was` and `value`.
#define ISTHMUS_ATOMIC_CHANGE(bits, name, operation)                                       \
  ISTHMUS_BITS(bits)                                                                       \
  __tsan_atomic##bits##_##name(volatile ISTHMUS_BITS(bits) * at, ISTHMUS_BITS(bits) value, \
                               int /*order*/) {                                            \
    isthmus::card::plugin::count(at, sizeof(*at), false);                                  \
    isthmus::card::plugin::count(at, sizeof(*at), true);                                   \
    const ISTHMUS_BITS(bits) was = *at;                                                    \
    *at = static_cast<ISTHMUS_BITS(bits)>(operation);                                      \
    return was;                                                                            \
  }
#define ISTHMUS_ATOMICS(bits)                                                                    \
  ISTHMUS_BITS(bits)                                                                             \
  __tsan_atomic##bits##_load(const volatile ISTHMUS_BITS(bits) * at, int /*order*/) {            \
    isthmus::card::plugin::count(at, sizeof(*at), false);                                        \
    return *at;                                                                                  \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile ISTHMUS_BITS(bits) * at, ISTHMUS_BITS(bits) value,   \
                                   int /*order*/) {                                              \
    isthmus::card::plugin::count(at, sizeof(*at), true);                                         \
    *at = value;                                                                                 \
  }                                                                                              \
  /* clang calls this function. */                                                               \
  ISTHMUS_BITS(bits)                                                                             \
  __tsan_atomic##bits##_compare_exchange_val(                                                    \
      volatile ISTHMUS_BITS(bits) * at, ISTHMUS_BITS(bits) expected, ISTHMUS_BITS(bits) value,   \
      int /*order*/, int /*else*/) {                                                             \
    isthmus::card::plugin::count(at, sizeof(*at), false);                                        \
    isthmus::card::plugin::count(at, sizeof(*at), true);                                         \
    const ISTHMUS_BITS(bits) was = *at;                                                          \
    *at = was == expected ? value : was;                                                         \
    return was;                                                                                  \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(                                             \
      volatile ISTHMUS_BITS(bits) * at, ISTHMUS_BITS(bits) * expected, ISTHMUS_BITS(bits) value, \
      int order, int otherwise) {                                                                \
    const ISTHMUS_BITS(bits) wanted = *expected;                                                 \
    *expected = __tsan_atomic##bits##_compare_exchange_val(at, wanted, value, order, otherwise); \
    return static_cast<int>(*expected == wanted);                                                \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(                                               \
      volatile ISTHMUS_BITS(bits) * at, ISTHMUS_BITS(bits) * expected, ISTHMUS_BITS(bits) value, \
      int order, int otherwise) {                                                                \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, otherwise); \
  }                                                                                              \
  ISTHMUS_ATOMIC_CHANGE(bits, exchange, value)                                                   \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_add, was + value)                                            \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_sub, was - value)                                            \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_and, was& value)                                             \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_or, was | value)                                             \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_xor, was ^ value)                                            \
  ISTHMUS_ATOMIC_CHANGE(bits, fetch_nand, ~(was & value))
// NOLINTBEGIN(*-non-const-parameter): `expected` gets the old value
ISTHMUS_ATOMICS(8)
ISTHMUS_ATOMICS(16)
ISTHMUS_ATOMICS(32)
ISTHMUS_ATOMICS(64)
ISTHMUS_ATOMICS(128)
// NOLINTEND(*-non-const-parameter)
void __tsan_atomic_thread_fence(int /*order*/) {}
void __tsan_atomic_signal_fence(int /*order*/) {}

void __tsan_read_range(const void* at, std::size_t bytes) {
  isthmus::card::plugin::count(at, bytes, false);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  isthmus::card::plugin::count(at, bytes, true);
}
void __tsan_init() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*at*/, void* /*value*/) {}
void __tsan_vptr_read(void** /*at*/) {}

// With these the linker replaces libc's functions in the kernel's code.
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  __tsan_read_range(from, bytes);
  __tsan_write_range(to, bytes);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  __tsan_read_range(from, bytes);
  __tsan_write_range(to, bytes);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  __tsan_write_range(to, bytes);
  return __real_memset(to, value, bytes);
}
// Only clang calls these functions.
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  return __wrap_memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  return __wrap_memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  return __wrap_memset(to, value, bytes);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
}

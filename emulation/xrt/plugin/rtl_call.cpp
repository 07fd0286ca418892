// Runs a kernel that Verilator compiled: writes its registers, starts it, and counts the clocks to
// its end. Its masters access the card's memory with that memory's latency; its streams move words
// at each clock.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

#include "isthmus/card/kernel_plugin.h"
#include "kernel.hpp"
#include "rtl_module.hpp"
#include "rtl_rules.hpp"
#include "rtl_stream.hpp"

namespace isthmus::card::plugin {
namespace {

constexpr std::uint32_t start_bit = 1;
constexpr std::uint32_t done_bit = 2;
constexpr std::uint32_t continue_bit = 16;
constexpr double femtoseconds = 1e15;
// Numbers of clocks without a move after which something happens.
constexpr std::uint64_t patience = 10'000'000;  ///< the module counts as waiting or hanging
constexpr std::uint64_t before_look = 100'000;  ///< a module that computes lets other kernels run
constexpr std::uint64_t between_looks = 1'000'000;
constexpr std::uint64_t clocks_after_end = 1000;  ///< a module that is done stops
/// Its streams are then tested once in so many clocks.
constexpr std::uint64_t clocks_of_polling = 1000;
constexpr std::uint64_t polling_interval = 64;
constexpr std::uint64_t least_idle = 64;  ///< the module waits, besides memory's clocks

/// A module on the bench, from its reset on.
class VerilogKernel final : public BenchKernel {
 public:
  VerilogKernel(VerilogModule module, Time period)
      : BenchKernel(period), module_(std::move(module)) {
    for (const auto& [name, pins] : module_.readers) {
      add_reader(pins);
      names_.emplace_back(name);
    }
    for (const auto& [name, pins] : module_.writers) {
      add_writer(pins);
      names_.emplace_back(name);
    }
    begin(module_.control, module_.reset_n, Pin());
  }

  [[nodiscard]] const VerilogModule& module() const { return module_; }
  [[nodiscard]] const std::string& master(std::size_t n) const { return names_[n]; }

 private:
  void edge() override { module_.model->edge(); }
  bool settle() override {
    module_.model->eval();
    return true;
  }

  VerilogModule module_;
  std::vector<std::string> names_;  ///< names of the masters' ports
};

class Run {
 public:
  Run(isthmus_kernel_run& run, VerilogKernel& kernel)
      : run_(run),
        kernel_(kernel),
        module_(kernel.module()),
        memory_clocks_(2 * static_cast<std::uint64_t>(run.memory_latency_s * run.clock_hz)),
        handshakes_(module_.offered, warn_) {
    for (const AxisPins& pins : module_.streams) {
      streams_.emplace_back(pins, [this](const AxisPins& which, const isthmus_stream_word& word,
                                         int wait) { return stream(which, word, wait); });
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { kernel_.connect(std::vector<PinServer*>{}); }

  void call() {
    const auto latency = static_cast<Time>(run_.memory_latency_s * femtoseconds);
    std::deque<WatchedMemory> memories;
    for (std::size_t n = 0; n < kernel_.masters(); ++n) {
      const Contents contents{
          .read = [this](std::uint64_t from, std::span<std::byte> to) { return read(from, to); },
          .write = [this](std::uint64_t to, std::span<const std::byte> from,
                          std::uint64_t strobes) { return write(to, from, strobes); }};
      kernel_.connect(n, memories.emplace_back(kernel_.master(n), warn_, contents,
                                               LinkedMemoryOptions{.read_latency = latency,
                                                                   .write_latency = latency}));
    }
    if (module_.controlled && !is_done_after_start()) {
      return;
    }
    if (!module_.controlled) {
      begin();
    }
    while (!must_end_) {  // moves words whose end nothing waits for
      kernel_.clock();
      look_around();
    }
  }

 private:
  /// Does one run. Returns whether the module may afterwards move further words.
  bool is_done_after_start() {
    for (const auto& [offset, bytes] : module_.registers) {
      for (std::uint32_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
        std::uint32_t word = 0;
        std::memcpy(&word, run_.registers + offset + at,
                    std::min<std::size_t>(sizeof(word), bytes - at));
        kernel_.write_register(offset + at, word, 0xF);
      }
    }
    begin();
    kernel_.write_register(0, start_bit, 0xF);
    while ((kernel_.read_register(0, nullptr) & done_bit) == 0) {
      look_around();
    }
    run_.cycles = cycles();
    run_.computing = ISTHMUS_COMPUTING_KNOWN;
    if (module_.chained) {
      kernel_.write_register(0, continue_bit, 0xF);
    }
    is_done_ = !streams_.empty() && run_.done(run_.card, run_.cycles) == ISTHMUS_STREAM_DONE;
    return is_done_;
  }

  void begin() {
    std::vector<PinServer*> servers;
    servers.reserve(streams_.size() + 1);
    for (AxisStream& one : streams_) {
      servers.push_back(&one);
    }
    servers.push_back(&handshakes_);
    kernel_.connect(std::move(servers));
    began_ = latest_ = kernel_.edges();
  }

  /// Returns the clocks of the run without those in which the module waited.
  [[nodiscard]] std::uint64_t cycles() const { return kernel_.edges() - began_ - waited_; }

  /// Makes the kernel wait if further clocks would change nothing at all, or nothing for long.
  void look_around() {
    if (idle() < least_idle + memory_clocks_) {
      looks_ = 0;
      looks_at_others_ = before_look;
    } else if (is_done_) {
      rest_after_end();
    } else if (const bool still = !streams_.empty() && is_still(); still || idle() > patience) {
      const auto wanted = wanted_streams(module_.controlled && !still);
      if (wanted.empty() && module_.controlled) {
        throw std::runtime_error(
            "it is not done (bit 1 of its register at 0): no access to memory and no word of a "
            "stream for " +
            std::to_string(idle()) + " clocks" + (still ? ", and no register changes" : ""));
      }
      wait(run_.stream_wait, wanted);
    } else if (idle() > looks_at_others_) {
      looks_at_others_ = idle() + between_looks;
      if (const auto wanted = wanted_streams(true); !wanted.empty()) {
        wait(run_.stream_look, wanted);
      }
    }
  }

  /// Stops the clock after the end; what the module still computes, it computes in its next run.
  void rest_after_end() {
    if (idle() > clocks_after_end + memory_clocks_) {
      if (const auto wanted = wanted_streams(true); !wanted.empty()) {
        wait(run_.stream_wait, wanted);
      } else {
        must_end_ = true;
      }
    }
  }

  /// Returns the clocks since the last move; after the end only words count as moves.
  [[nodiscard]] std::uint64_t idle() const { return kernel_.edges() - latest_; }

  /// Returns whether no register has changed since the previous call. It is called seldom, because
  /// a module may have many registers.
  bool is_still() {
    const std::uint64_t look = looks_++ % polling_interval;
    if (look == 0) {
      before_.assign(module_.state.begin(), module_.state.end());
    }
    return look == 1 && std::ranges::equal(before_, module_.state);
  }

  /// Returns the streams for which the module waits; if `asks`, only those with tvalid or tready
  /// high.
  [[nodiscard]] std::vector<std::uint32_t> wanted_streams(bool asks) const {
    std::vector<std::uint32_t> wanted;
    for (const AxisStream& one : streams_) {
      if (one.waits() && (!asks || one.asks())) {
        wanted.push_back(one.pins().argument);
      }
    }
    return wanted;
  }

  /// Counts the clocks since the last move as a wait, unless the card lets the module compute
  /// further.
  void wait(decltype(isthmus_kernel_run::stream_wait) call,
            const std::vector<std::uint32_t>& wanted) {
    const int answer = call(run_.card, wanted.data(), wanted.size(), cycles() - idle());
    if (!is_failure(answer) && answer == ISTHMUS_STREAM_DONE) {
      waited_ += idle();
      latest_ = kernel_.edges();
    }
  }

  /// Returns whether the module must stop. After its end it first completes the clock, so that no
  /// word gets lost.
  bool is_failure(int answer) {
    const bool failed = answer == ISTHMUS_STREAM_FAILED;
    check(failed && !is_done_ ? answer : 0);
    must_end_ = must_end_ || failed;
    return failed;
  }

  bool stream(const AxisPins& pins, const isthmus_stream_word& word, int wait) {
    if (wait == ISTHMUS_STREAM_THIS_CLOCK && idle() > clocks_of_polling &&
        idle() % polling_interval != 0) {
      return false;
    }
    const auto call = pins.reads ? run_.stream_read : run_.stream_write;
    const int answer = call(run_.card, pins.argument, &word, cycles(), wait);
    const bool done = !is_failure(answer) && answer == ISTHMUS_STREAM_DONE;
    latest_ = done ? kernel_.edges() : latest_;
    return done;
  }

  void note_access() { latest_ = is_done_ ? latest_ : kernel_.edges(); }

  /// Reads a beat; bytes outside of the buffer are 0, while a board leaves them undefined.
  bool read(std::uint64_t from, std::span<std::byte> to) {
    note_access();
    const std::uint64_t there = run_.bytes_at(run_.card, from);
    const std::size_t part =
        there == 0 ? to.size() : std::min(to.size(), static_cast<std::size_t>(there));
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(part), to.end(), std::byte{0});
    check(run_.read(run_.card, from, to.data(), part));
    return true;
  }

  bool write(std::uint64_t to, std::span<const std::byte> from, std::uint64_t strobes) {
    note_access();
    const auto written = [strobes](std::size_t n) { return ((strobes >> n) & 1U) != 0; };
    for (std::size_t begin = 0; begin < from.size();) {
      std::size_t end = begin;
      while (end < from.size() && written(end)) {
        ++end;
      }
      if (end > begin) {
        check(run_.write(run_.card, to + begin, from.data() + begin, end - begin));
      }
      begin = end + 1;
    }
    return true;
  }

  /// Throws if a call of the card failed, which has kept the message.
  static void check(int failed) {
    if (failed != 0) {
      throw std::runtime_error("");
    }
  }

  isthmus_kernel_run& run_;
  VerilogKernel& kernel_;
  const VerilogModule& module_;
  std::uint64_t memory_clocks_;  ///< latency of memory
  std::deque<AxisStream> streams_;
  Warn warn_ = [this](const std::string& does, const std::string& where) {
    check(run_.warn(run_.card, does.c_str(), where.c_str()));
  };
  Handshakes handshakes_;
  std::uint64_t began_ = 0;
  std::uint64_t latest_ = 0;  ///< last clock with a move
  std::uint64_t waited_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t looks_at_others_ = before_look;  ///< idle clocks after which other kernels may run
  /// Whether the run has ended and the module only moves words.
  bool is_done_ = false;
  bool must_end_ = false;
  std::vector<std::byte> before_;
};

}  // namespace
}  // namespace isthmus::card::plugin

extern "C" __attribute__((visibility("default"))) int isthmus_kernel(isthmus_kernel_run* run) {
  using namespace isthmus::card;
  try {
    if (run->abi < 6) {
      throw std::runtime_error("it was built for a newer Isthmus");
    }
    // static, because a module keeps its registers between runs. The card loads this library once
    // for each instance.
    static plugin::VerilogKernel kernel(plugin::make_module(),
                                        static_cast<Time>(plugin::femtoseconds / run->clock_hz));
    plugin::Run(*run, kernel).call();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(run->error, sizeof(run->error), "%s", error.what());
    return 1;
  }
}

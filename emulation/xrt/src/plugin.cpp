#include "plugin.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "isthmus/card/kernel_plugin.h"

namespace isthmus::card::process {
namespace {

using Function = int (*)(isthmus_kernel_run*);

/// What a plug-in's functions work on: the card's memory and streams. It keeps exceptions, which
/// must not pass through the plug-in's C interface.
struct Bridge {
  const KernelRun* run;
  Reach* reach;
  StreamAccess* streams;
  std::string wrong;
  std::exception_ptr unset;  ///< an UnsetArgumentError, whose message names the kernel
  const isthmus_kernel_run* call = nullptr;
  /// Whether the plug-in has reported an unknown or estimated computing time.
  bool has_reported = false;
  /// Sum of an estimate's phases.
  KernelOutcome estimated{};
  /// Changes of the source, and the sum of the phases with each.
  std::vector<LoopChange> changes{};
  std::vector<KernelOutcome> changed{};

  [[nodiscard]] Time time(double cycles) const {
    return static_cast<Time>(std::llround(cycles * 1e15 / run->timing->kernel_hertz()));
  }

  template <class Action>
  int guarded(const Action& action) {
    try {
      const bool unknown = call->computing == ISTHMUS_COMPUTING_UNKNOWN;
      if (!has_reported && (unknown || call->computing == ISTHMUS_COMPUTING_ESTIMATED)) {
        has_reported = true;
        run->computing_is(unknown ? Source::unknown : Source::estimated);
      }
      action();
      return 0;
    } catch (const UnsetArgumentError& error) {
      wrong = error.what();
      unset = std::current_exception();
      return 1;
    } catch (const std::exception& error) {
      wrong = error.what();
      return 1;
    }
  }
};

template <class Action>
int guarded(void* card, const Action& action) {
  auto* bridge = static_cast<Bridge*>(card);
  return bridge->guarded([&] { action(*bridge->reach); });
}

std::span<std::byte> writable(void* to, std::uint64_t bytes) {
  return {static_cast<std::byte*>(to), static_cast<std::size_t>(bytes)};
}

std::span<const std::byte> readable(const void* from, std::uint64_t bytes) {
  return {static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes)};
}

int read(void* card, std::uint64_t address, void* to, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.read(address, writable(to, bytes)); });
}

int write(void* card, std::uint64_t address, const void* from, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.write(address, readable(from, bytes)); });
}

int load(void* card, std::uint64_t address, void* to, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.load(address, writable(to, bytes)); });
}

int store(void* card, std::uint64_t address, const void* from, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.store(address, readable(from, bytes)); });
}

int store_around(void* card, std::uint64_t address, const void* from, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.store_around(address, readable(from, bytes)); });
}

int moved(void* card, std::uint64_t address, std::uint64_t bytes, int written) {
  return guarded(card, [&](Reach& reach) { reach.count(address, bytes, written != 0); });
}

std::uint64_t bytes_at(void* card, std::uint64_t address) {
  std::uint64_t found = 0;
  guarded(card, [&](Reach& reach) { found = reach.bytes_at(address); });
  return found;
}

template <class Action>
int streamed(void* card, const Action& action) {
  auto* bridge = static_cast<Bridge*>(card);
  StreamAnswer answer = StreamAnswer::gone;
  bridge->guarded([&] {
    if (bridge->streams == nullptr) {
      throw KernelError("none of its streams is connected: see stream_connect in the description");
    }
    answer = action(*bridge->streams);
    if (answer == StreamAnswer::gone) {
      throw KernelError("the card was closed while it waited");
    }
  });
  return static_cast<int>(answer);
}

StreamWord reachable(const isthmus_stream_word* word) {
  return {.data = writable(word->data, word->data_bytes),
          .sideband = writable(word->sideband, word->sideband_bytes)};
}

int stream_read(void* card, std::uint32_t argument, const isthmus_stream_word* word,
                std::uint64_t cycles, int wait) {
  return streamed(card, [&](StreamAccess& streams) {
    return streams.read(argument, reachable(word), cycles, static_cast<StreamWait>(wait));
  });
}

int stream_write(void* card, std::uint32_t argument, const isthmus_stream_word* word,
                 std::uint64_t cycles, int wait) {
  return streamed(card, [&](StreamAccess& streams) {
    return streams.write(argument, reachable(word), cycles, static_cast<StreamWait>(wait));
  });
}

int stream_wait(void* card, const std::uint32_t* arguments, std::uint64_t count,
                std::uint64_t cycles) {
  return streamed(card, [&](StreamAccess& streams) {
    return streams.wait({arguments, static_cast<std::size_t>(count)}, cycles, false);
  });
}

int stream_look(void* card, const std::uint32_t* arguments, std::uint64_t count,
                std::uint64_t cycles) {
  return streamed(card, [&](StreamAccess& streams) {
    return streams.wait({arguments, static_cast<std::size_t>(count)}, cycles, true);
  });
}

KernelOutcome outcome_after(const KernelRun& run, std::uint64_t cycles) {
  KernelOutcome outcome = outcome_of(run, 1);
  outcome.logic = Pace::of_rate(run.timing->kernel_hertz()).of(static_cast<std::int64_t>(cycles));
  outcome.duration = std::max(outcome.duration, outcome.logic);
  return outcome;
}

int done(void* card, std::uint64_t cycles) {
  const KernelRun& run = *static_cast<Bridge*>(card)->run;
  return streamed(card, [&](StreamAccess& streams) {
    return streams.done(outcome_after(run, cycles)) ? StreamAnswer::done : StreamAnswer::not_now;
  });
}

/// Returns how long a phase waits for memory before its first word, or after its last. For host
/// memory 0: the board's intervals between blocks contain this wait, because they were fitted to
/// kernels.
Time latency_of(const KernelRun& run) {
  constexpr std::int64_t word_bytes = 64;
  std::vector<PortWork> ports = run.reach->ports();
  if (std::ranges::find(ports, Target::host, &PortWork::target) != ports.end()) {
    return 0;
  }
  for (PortWork& port : ports) {
    port.bytes = std::min(port.bytes, word_bytes);
  }
  return run.timing->kernel(ports, 1);
}

/// Adds a phase's data and duration. Its computing and memory overlap, except for the first word;
/// phases do not overlap.
void add_phase(Bridge& bridge, KernelOutcome& all, std::uint64_t times, Time computing) {
  const KernelOutcome moved = outcome_of(*bridge.run, times);
  const Time latency = moved.bytes > 0 ? latency_of(*bridge.run) : 0;
  bridge.reach->forget();
  all.bytes += moved.bytes;
  all.memory += moved.memory;
  if (bridge.run->wants_changes) {
    std::vector<PortWork> ports;
    std::ranges::transform(moved.moved, std::back_inserter(ports), &Moved::work);
    all.memory_on_host += bridge.run->timing->kernel_on_host(std::move(ports), moved.sweeps);
  }
  all.add(moved.moved, moved.sweeps);
  const Time without = std::max(moved.memory, computing);
  const Time whole = std::max(moved.memory, computing + static_cast<Time>(times) * latency);
  all.duration += whole;
  all.computing.first_words += whole - without;
}

void add_estimate(Bridge& bridge, std::uint64_t times, double least, double cycles, double most) {
  const auto time = [&](double count) { return bridge.time(count); };
  KernelOutcome& all = bridge.estimated;
  add_phase(bridge, all, times, time(cycles));
  all.computing.least += time(least);
  all.computing.time += time(cycles);
  all.computing.most += time(most);
}

int phases(void* card, std::uint64_t times, double least, double cycles, double most) {
  auto* bridge = static_cast<Bridge*>(card);
  return bridge->guarded([&] { add_estimate(*bridge, times, least, cycles, most); });
}

int change(void* card, const char* kind, const char* name, std::uint64_t count) {
  auto* bridge = static_cast<Bridge*>(card);
  return bridge->guarded([&] {
    bridge->changes.push_back({.kind = kind, .name = name, .count = count});
    bridge->changed.emplace_back();
  });
}

int changed_phases(void* card, std::uint64_t times, double cycles) {
  auto* bridge = static_cast<Bridge*>(card);
  return bridge->guarded(
      [&] { add_phase(*bridge, bridge->changed.back(), times, bridge->time(cycles)); });
}

int phase(void* card, double least, double cycles, double most) {
  return phases(card, 1, least, cycles, most);
}

int warn(void* card, const char* does, const char* where) {
  return guarded(card, [&](Reach& reach) { reach.warn(does, where); });
}

std::uint64_t written(void* card, std::uint64_t address, std::uint64_t bytes, int* is_written) {
  std::uint64_t alike = bytes;
  *is_written = 1;
  guarded(card, [&](const Reach& reach) {
    const Pieces::Stretch found = reach.written(address, bytes);
    alike = found.end - address;
    *is_written = found.inside ? 1 : 0;
  });
  return alike;
}

int reads_unwritten(void* card, std::uint64_t address) {
  return guarded(card, [&](Reach& reach) { reach.reads_unwritten(address); });
}

int read_between(void* card, std::uint64_t address, std::uint64_t bytes) {
  return guarded(card, [&](Reach& reach) { reach.read_between(address, bytes); });
}

/// Returns an estimate's cycles as text, "1204 to 1208 cycles".
std::string cycles_text(const Computing& computing, double hertz) {
  const auto cycles = [&](Time time) {
    return std::to_string(std::llround(static_cast<double>(time) * hertz / 1e15));
  };
  const std::string most = cycles(computing.most);
  return (computing.least < computing.most ? cycles(computing.least) + " to " : "") + most;
}

/// Returns the outcome of a run with an estimate. With streams the run takes at least the time of
/// its logic, which has waited for words.
KernelOutcome estimated_outcome(Bridge& bridge, const isthmus_kernel_run& call) {
  KernelOutcome outcome = std::move(bridge.estimated);
  const double hertz = bridge.run->timing->kernel_hertz();
  outcome.logic = Pace::of_rate(hertz).of(static_cast<std::int64_t>(call.cycles));
  if (bridge.streams != nullptr) {
    outcome.duration = std::max(outcome.duration, outcome.logic);
  }
  outcome.computing.source = Source::estimated;
  outcome.computing.bound = &call.bound[0];
  for (std::size_t n = 0; n < bridge.changes.size(); ++n) {
    const KernelOutcome& after = bridge.changed[n];
    LoopChange& change = bridge.changes[n];
    const Time duration =
        std::max(after.duration, bridge.streams != nullptr ? outcome.logic : Time{0});
    change.saved = outcome.duration - duration;
    change.bytes = after.bytes;
  }
  outcome.computing.changes = std::move(bridge.changes);
  outcome.computing.text = cycles_text(outcome.computing, hertz) + " cycles in its first run" +
                           (call.bound[0] != '\0' ? ", most in " + outcome.computing.bound : "");
  return outcome;
}

class Plugin final : public KernelModel {
 public:
  Plugin(Function function, bool has_depths) : function_(function), has_depths_(has_depths) {}

  KernelOutcome run(const KernelRun& run) override {
    if (!has_depths_ && run.depths_are_unchecked) {
      run.depths_are_unchecked();
    }
    isthmus_kernel_run call{};
    Bridge bridge{.run = &run,
                  .reach = run.reach,
                  .streams = run.streams,
                  .wrong = {},
                  .unset = {},
                  .call = &call};
    call.abi = ISTHMUS_KERNEL_ABI;
    call.kernel = run.unit->kernel.c_str();
    call.instance = run.unit->instance.c_str();
    call.clock_hz = run.timing->kernel_hertz();
    call.registers = reinterpret_cast<std::uint8_t*>(run.registers.data());
    call.register_bytes = run.registers.size();
    call.card = &bridge;
    call.read = &read;
    call.write = &write;
    call.bytes_at = &bytes_at;
    call.load = &load;
    call.store = &store;
    call.store_around = &store_around;
    call.moved = &moved;
    call.memory_latency_s = run.timing->memory_latency_s();
    call.stream_read = &stream_read;
    call.stream_write = &stream_write;
    call.stream_wait = &stream_wait;
    call.stream_look = &stream_look;
    call.done = &done;
    call.warn = &warn;
    call.written = &written;
    call.reads_unwritten = &reads_unwritten;
    call.read_between = &read_between;
    call.phase = &phase;
    call.phases = &phases;
    if (run.wants_changes) {
      call.change = &change;
      call.changed_phases = &changed_phases;
    }
    const int failed = function_(&call);
    std::fflush(stdout);  // shows what the kernel has printed
    if (bridge.unset) {
      std::rethrow_exception(bridge.unset);
    }
    if (failed != 0 || !bridge.wrong.empty()) {
      call.error[sizeof(call.error) - 1] = '\0';
      const std::string own = call.error[0] != '\0' ? std::string(&call.error[0]) : bridge.wrong;
      const std::string text = "kernel '" + run.unit->kernel + "' failed: " +
                               (own.empty() ? "it returned " + std::to_string(failed) : own);
      if (failed == ISTHMUS_UNSET_ARGUMENT) {
        throw UnsetArgumentError(text);
      }
      throw KernelError(text);
    }
    if (call.computing == ISTHMUS_COMPUTING_ESTIMATED) {
      return estimated_outcome(bridge, call);
    }
    KernelOutcome outcome = outcome_after(run, call.cycles);
    const bool by_cycles = call.computing == ISTHMUS_COMPUTING_BY_CYCLES && call.cycles > 0;
    if (!by_cycles && call.computing != ISTHMUS_COMPUTING_KNOWN) {
      outcome.computing.source = Source::unknown;
    }
    return outcome;
  }

 private:
  Function function_;
  bool has_depths_;  ///< whether it checks the depths of streams in DATAFLOW regions
};

/// Loads a library, or a copy of it if it is loaded already, because each instance of a kernel has
/// its own static variables. Nothing unloads it: a process has the kernels of one xclbin.
void* loaded(const std::filesystem::path& file) {
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == nullptr) {
    return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  // Each copy has a new name, because the loader recognises a library by its name or inode, and
  // file systems use inode numbers again.
  static unsigned copies = 0;
  const int copy = memfd_create(file.filename().c_str(), MFD_CLOEXEC);
  const std::string path = "/proc/self/fd" + std::string(++copies, '/') + std::to_string(copy);
  std::ofstream(path, std::ios::binary) << std::ifstream(file, std::ios::binary).rdbuf();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(copy);
  return library;
}

}  // namespace

std::unique_ptr<KernelModel> load_plugin(const std::string& name,
                                         const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::filesystem::path file = std::filesystem::path(folder) / (name + ".so");
    if (!std::filesystem::exists(file)) {
      continue;
    }
    void* library = loaded(file);
    if (library == nullptr) {
      throw KernelError(file.string() + " does not load: " + dlerror());
    }
    auto* function = reinterpret_cast<Function>(dlsym(library, "isthmus_kernel"));
    if (function == nullptr) {
      throw KernelError(file.string() + " defines no isthmus_kernel");
    }
    const bool has_depths = dlsym(library, "isthmus_depths_unchecked") == nullptr;
    return std::make_unique<Plugin>(function, has_depths);
  }
  return nullptr;
}

}  // namespace isthmus::card::process

#include "run_checks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <span>
#include <string_view>

#include "library.hpp"
#include "of_xrt.hpp"
#include "starts.hpp"
#include "warning.hpp"

namespace isthmus::card::clock {
namespace {

/// Most arguments of a kernel that is watched: a word has a bit for each argument.
constexpr std::size_t most_arguments = 64;
constexpr std::uint64_t longest_name = 256;
constexpr std::uint64_t largest_value = 4096;
constexpr std::size_t address_bytes = 8;

/// The layout of XRT's `xrt_core::xclbin::kernel_argument` in 2.13 to 2.16
/// (core/common/xclbin_parser.h), with libstdc++'s std::string. `is_sound` checks it before use.
struct XrtText {
  const char* data;
  std::uint64_t size;
  std::array<std::uint64_t, 2> rest;
};
struct XrtArgument {
  XrtText name;
  XrtText type;
  XrtText port;
  std::uint64_t port_width;
  std::uint64_t index;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t host_size;
  std::uint64_t adapter_offset;
  int kind;
};
constexpr int scalar = 0;
constexpr int global = 1;
constexpr int most_kinds = 5;
constexpr std::uint64_t no_index = ~std::uint64_t{0};

bool is_sound(const XrtArgument& argument, std::size_t place) {
  return argument.name.data != nullptr && argument.name.size < longest_name &&
         (argument.index == place || argument.index == no_index) && argument.kind >= 0 &&
         argument.kind < most_kinds && argument.size <= largest_value;
}

enum class Mistake : std::uint8_t {
  value_unset,
  buffer_for_value,
  value_for_buffer,
  value_of_other_size,
  busy,
  never_started,
  count
};

/// Length and letters of a name, for `%.*s`.
struct Name {
  int size = 0;
  const char* text = "";
};

/// A mistake in a call that sets an argument or starts a run.
struct Fault {
  Mistake kind{};
  const char* kernel = "";
  Name argument{};
  Name type{};
  unsigned long index = 0;
  unsigned long argument_bytes = 0;
  unsigned long given_bytes = 0;
};

struct KernelEntry {
  std::atomic<const void*> handle = nullptr;
  std::array<char, longest_name> name{};
  std::span<const XrtArgument* const> arguments;
  /// For each kind of mistake, a bit for each argument of which the user was warned.
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Mistake::count)> warned{};

  [[nodiscard]] const XrtArgument* at(std::uint64_t index) const {
    return index < arguments.size() && arguments[index]->index == index ? arguments[index]
                                                                        : nullptr;
  }
};
struct RunEntry {
  std::atomic<const void*> handle = nullptr;
  std::atomic<KernelEntry*> kernel = nullptr;
  std::atomic<const void*> kernel_handle = nullptr;  ///< changes when a new kernel gets the entry
  std::atomic<std::uint64_t> set = 0;  ///< a bit for each argument that the program has set
  std::atomic<bool> running = false;
  std::atomic<unsigned> starting = 0;  ///< number of threads that start it now
  /// A bit for each argument whose present value is a mistake.
  std::atomic<std::uint64_t> mistaken = 0;
  /// Whether the program learns of the run's end without a call.
  std::atomic<bool> informed = false;
  /// Number of the run's last start (`starts.hpp`); 0: none.
  std::atomic<std::uint64_t> number = 0;
};
/// The kernels that are watched; further kernels are not.
constinit std::array<KernelEntry, 256> watched_kernels{};
constinit std::array<RunEntry, 4096> watched_runs{};

/// Returns the address of an XRT object's implementation, which identifies it: the object begins
/// with a shared pointer.
const void* handle_of(const void* object) { return *static_cast<const void* const*>(object); }

/// Returns the entry of a handle, or null. If `makes`, a handle without an entry gets a free one,
/// or that of an older handle.
template <class Entries>
auto* entry_of(Entries& entries, const void* handle, bool makes) {
  constexpr std::size_t most_probes = 8;
  constexpr unsigned alignment_bits = 4;
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(handle) >> alignment_bits) * 31;
  using Entry = Entries::value_type;
  Entry* free = nullptr;
  for (std::size_t probe = 0; probe < most_probes; ++probe) {
    auto& entry = entries[(first + probe) % entries.size()];
    const void* const there = entry.handle;
    if (there == handle) {
      return &entry;
    }
    if (free == nullptr && there == nullptr) {
      free = &entry;
    }
  }
  if (!makes) {
    return static_cast<Entry*>(nullptr);
  }
  free = free != nullptr ? free : &entries[first % entries.size()];
  free->handle = handle;
  return free;
}

RunEntry* run_of(const void* run) { return entry_of(watched_runs, handle_of(run), false); }

/// Returns the entry of the run's kernel; null if the kernel is not watched.
KernelEntry* kernel_in(const RunEntry* run) {
  KernelEntry* const kernel = run == nullptr ? nullptr : run->kernel.load();
  return kernel != nullptr && kernel->handle == run->kernel_handle ? kernel : nullptr;
}

int text_of(const Fault& fault, std::span<char> text) {
  const auto& [size, name] = fault.argument;
  switch (fault.kind) {
    case Mistake::value_unset:
      return std::snprintf(
          text.data(), text.size(),
          "kernel %s is started without argument %.*s (number %lu), a value of %lu bytes, which "
          "is 0 then or the value of an earlier run; before the start, add run.set_arg(%lu, %.*s)",
          fault.kernel, size, name, fault.index, fault.argument_bytes, fault.index, size, name);
    case Mistake::buffer_for_value:
      return std::snprintf(
          text.data(), text.size(),
          "argument %.*s (number %lu) of kernel %s is a value of %lu bytes, and a buffer of %lu "
          "bytes is given for it, at which XRT 2.13 dies; in place of the buffer, write "
          "run.set_arg(%lu, %.*s)",
          size, name, fault.index, fault.kernel, fault.argument_bytes, fault.given_bytes,
          fault.index, size, name);
    case Mistake::value_for_buffer:
      return std::snprintf(text.data(), text.size(),
                           "argument %.*s (number %lu) of kernel %s is a buffer, and a value of "
                           "%lu bytes is given "
                           "for it; in its place, write run.set_arg(%lu, %.*s) with an xrt::bo",
                           size, name, fault.index, fault.kernel, fault.given_bytes, fault.index,
                           size, name);
    case Mistake::value_of_other_size:
      return std::snprintf(
          text.data(), text.size(),
          "argument %.*s (number %lu) of kernel %s is a value of %lu bytes (%.*s), and a value of "
          "%lu bytes is given for it; XRT copies the bytes and converts nothing: write "
          "run.set_arg(%lu, static_cast<%.*s>(...))",
          size, name, fault.index, fault.kernel, fault.argument_bytes, fault.type.size,
          fault.type.text, fault.given_bytes, fault.index, fault.type.size, fault.type.text);
    case Mistake::never_started:
      return std::snprintf(
          text.data(), text.size(),
          "the program waits for a run of kernel %s that it never started, and XRT "
          "waits for ever; before run.wait(), add run.start()",
          fault.kernel);
    case Mistake::busy:
    case Mistake::count:
      return std::snprintf(text.data(), text.size(),
                           "a run of kernel %s is started while it runs, which XRT refuses; before "
                           "the second start, add run.wait(), or make an xrt::run for each thread",
                           fault.kernel);
  }
  return 0;
}

constexpr std::uint64_t bit_of(std::uint64_t argument) {
  return std::uint64_t{1} << argument % most_arguments;
}

/// Warns of a mistake once for each argument; with --fail-on-warning the warning ends the program.
void warn_user(KernelEntry& kernel, const Fault& fault) {
  const std::uint64_t bit = bit_of(fault.index);
  if ((kernel.warned[static_cast<std::size_t>(fault.kind)].fetch_or(bit) & bit) != 0) {
    return;
  }
  std::array<char, warning_bytes> text{};
  if (text_of(fault, text) > 0) {
    warn_of_call(text);
  }
}

/// Returns whether a value of another size reaches the argument unchanged. A larger integer does if
/// the bytes that it loses only repeat its sign. A smaller one does if it is not negative, because
/// the argument's further bytes become zeros.
bool arrives_whole(const XrtArgument& argument, std::span<const unsigned char> value) {
  const std::string_view type(argument.type.data, argument.type.size);
  if (value.size() == argument.size || argument.size == 0 || value.empty()) {
    return true;
  }
  if (type == "float" || type == "double" || type == "half") {
    return false;
  }
  constexpr unsigned char sign = 0x80;
  constexpr unsigned char ones = 0xff;
  if (value.size() < argument.size) {
    return (value.back() & sign) == 0;
  }
  const bool is_negative = (value[argument.size - 1] & sign) != 0;
  const auto lost = value.subspan(argument.size);
  return std::ranges::all_of(lost, [](unsigned char byte) { return byte == 0; }) ||
         (is_negative &&
          std::ranges::all_of(lost, [](unsigned char byte) { return byte == ones; }));
}

/// Returns whether an argument is a result that the kernel writes to a register (`unsigned&
/// found`).
bool is_result(const XrtArgument& argument) {
  const std::string_view type(argument.type.data, argument.type.size);
  return type.ends_with('&') && !type.starts_with("const ");
}

Fault fault_of(Mistake kind, const KernelEntry& kernel, const XrtArgument& argument) {
  return {.kind = kind,
          .kernel = kernel.name.data(),
          .argument = {static_cast<int>(argument.name.size), argument.name.data},
          .type = {static_cast<int>(argument.type.size), argument.type.data},
          .index = argument.index,
          .argument_bytes = argument.size};
}

/// Warns that the program starts a run that runs. What the card finds wrong with that run's outputs
/// may follow.
void warn_of_busy(const RunEntry& entry) {
  if (KernelEntry* const kernel = kernel_in(&entry)) {
    note_mistaken(entry.number);
    warn_user(*kernel, {.kind = Mistake::busy, .kernel = kernel->name.data()});
  }
}

}  // namespace

void know_kernel(const void* kernel, std::string_view name) {
  struct Vector {
    const XrtArgument* const* begin = nullptr;
    const XrtArgument* const* end = nullptr;
    const XrtArgument* const* room = nullptr;
  };
  void* const get_arguments = of_xrt("_ZN8xrt_core10kernel_int8get_argsERKN3xrt6kernelE");
  KernelEntry* const entry = entry_of(watched_kernels, handle_of(kernel), true);
  if (name != entry->name.data()) {
    std::ranges::fill(entry->warned, 0);
  }
  const std::size_t length = std::min(name.size(), entry->name.size() - 1);
  std::ranges::copy(name.substr(0, length), entry->name.begin());
  entry->name[length] = '\0';
  entry->arguments = {};
  if (get_arguments == nullptr) {
    return;
  }
  Vector arguments;  // never freed, because `watched_kernels` points into it
  reinterpret_cast<void (*)(Vector*, const void*)>(get_arguments)(&arguments, kernel);
  const std::span<const XrtArgument* const> all(arguments.begin, arguments.end);
  bool all_sound = all.size() <= most_arguments;
  for (std::size_t place = 0; all_sound && place < all.size(); ++place) {
    all_sound = is_sound(*all[place], place);
  }
  if (all_sound) {
    entry->arguments = all;
  }
}

void know_run(const void* run, const void* kernel) {
  RunEntry* const entry = entry_of(watched_runs, handle_of(run), true);
  see_end(entry->number.exchange(0));  // an older run had this entry: its start counts as seen
  entry->informed = false;
  entry->mistaken = 0;
  entry->starting = 0;
  entry->kernel = entry_of(watched_kernels, handle_of(kernel), false);
  entry->kernel_handle = handle_of(kernel);
  entry->set = 0;
  entry->running = false;
}

std::string_view name_of_kernel(const void* kernel) {
  const KernelEntry* const entry = entry_of(watched_kernels, handle_of(kernel), false);
  return entry == nullptr ? "?" : entry->name.data();
}

std::string_view kernel_of(const void* run) {
  const RunEntry* const entry = run_of(run);
  const KernelEntry* const kernel = kernel_in(entry);
  return kernel == nullptr ? "?" : kernel->name.data();
}

void note_set(const void* run, std::uint64_t index) {
  if (RunEntry* entry = run_of(run)) {
    entry->set |= bit_of(index);
    entry->mistaken &= ~bit_of(index);
  }
}

void check_value(const void* run, std::uint64_t index, const void* value, std::size_t bytes) {
  note_set(run, index);
  RunEntry* const entry = run_of(run);
  KernelEntry* const kernel = kernel_in(entry);
  const XrtArgument* const argument = kernel == nullptr ? nullptr : kernel->at(index);
  if (argument == nullptr) {
    return;
  }
  const auto* const first = static_cast<const unsigned char*>(value);
  if (argument->kind == scalar && !arrives_whole(*argument, {first, bytes})) {
    Fault fault = fault_of(Mistake::value_of_other_size, *kernel, *argument);
    fault.given_bytes = bytes;
    entry->mistaken |= bit_of(index);
    warn_user(*kernel, fault);
  }
  if (argument->kind != global || bytes >= address_bytes) {
    return;
  }
  if (std::any_of(first, first + bytes, [](unsigned char byte) { return byte != 0; })) {
    Fault fault = fault_of(Mistake::value_for_buffer, *kernel, *argument);
    fault.given_bytes = bytes;
    entry->mistaken |= bit_of(index);
    warn_user(*kernel, fault);
  }
}

void check_buffer(const void* run, std::uint64_t index, std::uint64_t buffer_bytes) {
  note_set(run, index);
  RunEntry* const entry = run_of(run);
  KernelEntry* const kernel = kernel_in(entry);
  const XrtArgument* const argument = kernel == nullptr ? nullptr : kernel->at(index);
  if (argument != nullptr && argument->kind == scalar) {
    Fault fault = fault_of(Mistake::buffer_for_value, *kernel, *argument);
    fault.given_bytes = buffer_bytes;
    entry->mistaken |= bit_of(index);
    warn_user(*kernel, fault);
  }
}

void check_start(const void* run) {
  RunEntry* const entry = run_of(run);
  KernelEntry* const kernel = kernel_in(entry);
  if (kernel == nullptr) {
    return;
  }
  for (const XrtArgument* const argument : kernel->arguments) {
    const bool is_set = argument->index == no_index || (entry->set & bit_of(argument->index)) != 0;
    if (argument->kind == scalar && !is_set && !is_result(*argument)) {
      entry->mistaken |= bit_of(argument->index);
      warn_user(*kernel, fault_of(Mistake::value_unset, *kernel, *argument));
    }
  }
}

bool is_unstarted(const void* run) {
  const RunEntry* const entry = run_of(run);
  return kernel_in(entry) != nullptr && entry->number == 0 && !entry->informed && !entry->running;
}

void warn_of_unstarted(const void* run) {
  if (KernelEntry* const kernel = kernel_in(run_of(run))) {
    warn_user(*kernel, {.kind = Mistake::never_started, .kernel = kernel->name.data()});
  }
}

void note_waited(const void* run) {
  if (RunEntry* entry = run_of(run)) {
    entry->running = false;
  }
}

void number_start(const void* run) {
  RunEntry* const entry = run_of(run);
  if (entry != nullptr && !entry->informed) {
    entry->number = begin_start();
    if (entry->mistaken != 0) {
      note_mistaken(entry->number);
    }
  }
}

void see_end_of(const void* run) {
  if (RunEntry* entry = run_of(run)) {
    see_end(entry->number);
  }
}

void note_informed(const void* run) {
  if (RunEntry* entry = run_of(run)) {
    entry->informed = true;
    see_end(entry->number);
  }
}

void begin_starting(const void* run, bool is_under_way) {
  RunEntry* const entry = run_of(run);
  if (entry == nullptr) {
    return;
  }
  const bool by_another = entry->starting++ > 0;
  if (by_another || (is_under_way && entry->running)) {
    warn_of_busy(*entry);
  }
}

void end_starting(const void* run, bool done) {
  RunEntry* const entry = run_of(run);
  if (entry == nullptr) {
    return;
  }
  if (done) {
    entry->running = true;
  } else if (entry->running) {
    warn_of_busy(*entry);
  }
  --entry->starting;
}

}  // namespace isthmus::card::clock

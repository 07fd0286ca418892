// Models of kernels: what a run does to data, and how long it takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/process/call_record.hpp"
#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/host_fault.hpp"
#include "isthmus/card/process/host_starts.hpp"
#include "isthmus/card/process/memory.hpp"
#include "isthmus/card/process/outcome.hpp"
#include "isthmus/card/process/run_order.hpp"
#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// A kernel cannot run, or cannot run with these arguments; the message says why.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel accesses memory through an argument that was never set; the message names both.
class UnsetArgumentError : public KernelError {
 public:
  using KernelError::KernelError;
};

/// Prints each warning once.
class Warnings {
 public:
  /// With a `fatal_file` the first warning throws KernelError, and the file gets the warning's
  /// text, which `card exec` prints at the end. `not_needed` are outputs ("INSTANCE.ARGUMENT") that
  /// the program need not read.
  explicit Warnings(std::string fatal_file, const std::vector<std::string>& not_needed = {},
                    HostLooks* looks = nullptr)
      : fatal_file_(std::move(fatal_file)),
        not_needed_(not_needed.begin(), not_needed.end()),
        looks_(looks) {}

  /// Warns, unless a warning with this `key` was printed.
  void warn(const std::string& key, const std::string& text);
  void warn(HostFault fault);
  /// Sets the function that returns whether the user was warned of the start with this number.
  void ask_for_mistakes(HostStarts::Asked is_mistaken) { is_mistaken_ = is_mistaken; }
  /// Sets the function that returns the number of another card to whose buffer at an address the
  /// program has sent data.
  void ask_for_others(std::function<std::optional<unsigned>(std::uint64_t)> sent_elsewhere) {
    sent_elsewhere_ = std::move(sent_elsewhere);
  }
  [[nodiscard]] std::optional<unsigned> sent_elsewhere(std::uint64_t address) const {
    return sent_elsewhere_ ? sent_elsewhere_(address) : std::nullopt;
  }
  /// Notes that a run was used wrongly, so that mistakes with its output may follow from this one.
  void doubt(std::uint64_t run) { doubted_.insert(run); }
  [[nodiscard]] bool doubts(std::uint64_t run) const { return doubted_.contains(run); }
  [[nodiscard]] bool has_doubts() const { return !doubted_.empty(); }
  /// Prints a fact that is no mistake, unless a fact with this `key` was printed.
  void note(const std::string& key, const std::string& text);

 private:
  std::string fatal_file_;
  std::set<std::string> not_needed_;
  std::set<std::string> printed_;
  std::set<std::uint64_t> doubted_;  ///< numbers of the runs that were used wrongly
  HostLooks* looks_;                 ///< null: the program's interface is unknown
  HostStarts::Asked is_mistaken_ = nullptr;
  std::function<std::optional<unsigned>(std::uint64_t)> sent_elsewhere_;
};

/// The memory that a kernel can access, by address. As on a board, accesses past a buffer's end are
/// done; a warning names them.
class Reach {
 public:
  /// Without an `order` the program counts as waiting for each run.
  Reach(const Description& description, CardMemory& card, ProgramMemory& host, Warnings& warnings,
        const ComputeUnit& unit, std::span<const std::byte> registers, const RunOrigin& origin = {},
        const RunOrder* order = nullptr, HostLooks* looks = nullptr);

  void read(std::uint64_t address, std::span<std::byte> to);
  void write(std::uint64_t address, std::span<const std::byte> from);
  /// `load` and `store` read and write, and take no time and give no warnings.
  void load(std::uint64_t address, std::span<std::byte> to) { get(address, to, false); }
  void store(std::uint64_t address, std::span<const std::byte> from) { put(address, from, false); }
  /// Same as `store`, for bytes of which the run has written only some: they count for no race.
  void store_around(std::uint64_t address, std::span<const std::byte> from) {
    put(address, from, false, false);
  }
  void count(std::uint64_t address, std::uint64_t bytes, bool writes);
  /// Warns that the kernel `does` something wrong; only the first warning names the place `where`.
  void warn(const std::string& does, const std::string& where);
  /// Returns whether the byte at an address was written since its buffer was made, and up to which
  /// byte the answer is the same. If its use is unknown, memory counts as written.
  [[nodiscard]] Pieces::Stretch written(std::uint64_t address, std::uint64_t bytes) const;
  /// Notes that the run has read a buffer within these bytes. Warns if the program has sent bytes
  /// there since it started the run, or if another run writes there meanwhile.
  void read_between(std::uint64_t address, std::uint64_t bytes);
  /// Warns that the kernel read a byte that nothing has written.
  void reads_unwritten(std::uint64_t address);
  /// Returns how many bytes of its buffer lie from an address on; 0 outside of buffers.
  [[nodiscard]] std::uint64_t bytes_at(std::uint64_t address) const;

  /// Returns the bytes read and written so far, by port. Each argument that is a buffer has a port
  /// for each bank and direction, which moves bytes from the argument's address up to the next
  /// argument's.
  [[nodiscard]] std::vector<PortWork> ports() const;
  /// Returns the same bytes, by the names of arguments and memories.
  [[nodiscard]] std::vector<Moved> moved() const;
  /// Returns the number of the run among those of the card.
  [[nodiscard]] std::uint64_t run() const { return run_; }
  /// Sets the counts of `ports` to 0.
  void forget() { traffic_.clear(); }

 private:
  struct Buffer {
    std::uint64_t begin = 0;
    const std::string* name = nullptr;
    std::size_t index = 0;  ///< number of the kernel's argument
    bool constant = false;  ///< whether the argument is declared const
  };
  struct Traffic {
    const Buffer* buffer = nullptr;  ///< null: the address is below all buffers
    const MemoryRange* memory = nullptr;
    PortWork work;
  };

  [[nodiscard]] const Buffer* buffer_of(std::uint64_t address) const;
  [[nodiscard]] static bool points_into(const Buffer& argument, const BufferUse& use);
  [[nodiscard]] std::optional<NamedArgument> named(const Buffer* buffer) const;
  [[nodiscard]] std::optional<NamedArgument> exchanged_with(const Buffer& read) const;
  void note_given();
  void check_connections() const;  // in banks.cpp
  void note_read(std::uint64_t address);
  /// `is_exact` says whether the run wrote all these bytes; else they count for no race.
  void note_write(std::uint64_t address, std::span<const std::byte> data, bool is_exact);
  void check_constant(std::uint64_t address);
  /// Returns the record of what the run accesses in a buffer; null if the run is not watched.
  BufferAccess* access_to(BufferUse& use, const Buffer* buffer);
  /// Warn if the run reads, or changes, what a run accesses that may run at the same time.
  void check_read(const BufferUse& use, const BufferAccess& mine, std::uint64_t begin,
                  std::uint64_t end);
  void check_change(const BufferUse& use, const BufferAccess& mine, std::uint64_t begin,
                    std::span<const std::byte> data);
  [[nodiscard]] bool of_host(std::uint64_t address) const;
  void warn(std::uint64_t address, std::uint64_t bytes, const char* does);
  /// Throws UnsetArgumentError if an address lies in no memory and may come from an argument that
  /// is 0. Throws MemoryError for any other address outside of memory.
  void check_range(std::uint64_t address, std::uint64_t bytes, const char* does) const;
  void get(std::uint64_t address, std::span<std::byte> to, bool warns);
  void put(std::uint64_t address, std::span<const std::byte> from, bool warns,
           bool is_exact = true);
  void read_host(std::uint64_t address, std::span<std::byte> to, bool warns);
  void write_host(std::uint64_t address, std::span<const std::byte> from, bool warns);

  const Description* description_;
  CardMemory* card_;
  ProgramMemory* host_;
  Warnings* warnings_;
  const ComputeUnit* unit_;
  std::vector<Buffer> buffers_;         ///< buffers of the arguments, sorted by address
  std::vector<std::uint64_t> scalars_;  ///< values of the arguments that are no buffers
  std::vector<Traffic> traffic_;
  std::uint64_t run_;  ///< number that the card gave the run
  RunOrigin origin_;
  const RunOrder* order_;
  HostLooks* looks_;  ///< null: unknown where the program looks
};

/// A word of a stream: data, with the same width at both ends, and sideband signals, TLAST first.
/// Only sideband bytes that both ends have are copied.
struct StreamWord {
  std::span<std::byte> data;
  std::span<std::byte> sideband;
};

enum class StreamWait : std::uint8_t {
  wait,       ///< until data are there, or room is
  try_now,    ///< fails without data or room
  look,       ///< same as `try_now`, but moves no word
  this_clock  ///< same as `look`, but fails also if data or room come later than `cycles`
};

enum class StreamAnswer : std::uint8_t { done, not_now, gone };

/// The streams of one run of a kernel, by the number of the argument. `cycles` are the clocks of
/// the logic so far, without waits. After the answer `gone` the kernel's function must return: the
/// card is closed, or the program has started the kernel again.
class StreamAccess {
 public:
  StreamAccess() = default;
  StreamAccess(const StreamAccess&) = delete;
  StreamAccess& operator=(const StreamAccess&) = delete;
  virtual ~StreamAccess() = default;

  virtual StreamAnswer read(std::uint32_t argument, const StreamWord& word, std::uint64_t cycles,
                            StreamWait wait) = 0;
  virtual StreamAnswer write(std::uint32_t argument, const StreamWord& word, std::uint64_t cycles,
                             StreamWait wait) = 0;
  /// Waits until one of the arguments has data or room; without arguments until the function must
  /// end. If `cycles` is less than in the previous call, the difference was a wait. A caller that
  /// `computes` meanwhile gets `not_now` if nothing else can go on.
  virtual StreamAnswer wait(std::span<const std::uint32_t> arguments, std::uint64_t cycles,
                            bool computes) = 0;
  /// Ends the run with this outcome. Returns whether the kernel may move further words, until a
  /// call returns `gone`.
  virtual bool done(const KernelOutcome& outcome) = 0;
};

/// One run of a kernel: its arguments, and the memory and the streams that it can access.
struct KernelRun {
  const ComputeUnit* unit;
  std::span<std::byte> registers;
  Reach* reach;
  Timing* timing;
  StreamAccess* streams = nullptr;  ///< null: no stream is connected
  /// A model calls this as early as possible if its computing time is unknown or estimated, because
  /// the kernel may never end.
  std::function<void(Source)> computing_is{};
  /// A model calls this if it does not check how deep streams in its DATAFLOW regions must be.
  std::function<void()> depths_are_unchecked{};
  /// Whether a model shall tell what changes of the kernel's source would spare.
  bool wants_changes = false;

  /// Returns argument `index`, which has at most eight bytes.
  [[nodiscard]] std::uint64_t argument(std::size_t index) const;
  /// Writes result `index` into the registers after the arguments, if there is room.
  void result(std::size_t index, std::uint64_t value) const;
};

class KernelModel {
 public:
  KernelModel() = default;
  KernelModel(const KernelModel&) = delete;
  KernelModel& operator=(const KernelModel&) = delete;
  virtual ~KernelModel() = default;

  /// Does all the work of a run, and returns its outcome.
  virtual KernelOutcome run(const KernelRun& run) = 0;
};

/// Returns the plug-in with the unit's kernel name in one of the folders, else the card's own
/// kernel. Throws KernelError if there is neither, or if the unit lacks arguments.
std::unique_ptr<KernelModel> make_kernel(const ComputeUnit& unit,
                                         const std::vector<std::string>& folders);

/// Returns the outcome of a run that repeats its accesses `sweeps` times.
KernelOutcome outcome_of(const KernelRun& run, std::uint64_t sweeps);

}  // namespace isthmus::card::process

// Models of kernels: the effect of a run on data, and its time.
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
#include "isthmus/card/process/memory.hpp"
#include "isthmus/card/process/outcome.hpp"
#include "isthmus/card/process/timing.hpp"

namespace isthmus::card::process {

/// A kernel cannot be run, or not with these arguments; the message says why.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel reached for memory through an argument that was never set; the message names both.
class UnsetArgumentError : public KernelError {
 public:
  using KernelError::KernelError;
};

/// Prints warnings, each once.
class Warnings {
 public:
  /// With a `fatal_file` the first warning throws KernelError. The file has its text for
  /// `card exec`, which prints it at the end.
  /// Of outputs that are `not_needed` ("INSTANCE.ARGUMENT") nobody is warned that they are not
  /// read.
  explicit Warnings(std::string fatal_file, const std::vector<std::string>& not_needed = {})
      : fatal_file_(std::move(fatal_file)), not_needed_(not_needed.begin(), not_needed.end()) {}

  /// Warns once for each `key`.
  void tell(const std::string& key, const std::string& text);
  void tell(HostFault fault);
  /// Notes a mistake in the use of the instance, from which others may follow.
  void doubt(const std::string& instance) { doubted_.insert(instance); }
  /// The same for a fact that is no fault of the program's.
  void note(const std::string& key, const std::string& text);

 private:
  std::string fatal_file_;
  std::set<std::string> not_needed_;
  std::set<std::string> told_;
  std::set<std::string> doubted_;  ///< instances
};

/// All memory that a kernel can reach, by address. Accesses past the end of a buffer are done, as
/// on a board, and the user is warned of them.
class Reach {
 public:
  /// `start`: number of the program's start of the run; 0: nobody watches it.
  Reach(const Description& description, CardMemory& card, ProgramMemory& host, Warnings& warnings,
        const ComputeUnit& unit, std::span<const std::byte> registers, std::uint64_t start = 0,
        HostLooks* looks = nullptr);

  void read(std::uint64_t address, std::span<std::byte> to);
  void write(std::uint64_t address, std::span<const std::byte> from);
  /// The same, without time and without warnings.
  void load(std::uint64_t address, std::span<std::byte> to) { get(address, to, false); }
  void store(std::uint64_t address, std::span<const std::byte> from) { put(address, from, false); }
  void count(std::uint64_t address, std::uint64_t bytes, bool writes);
  /// Warns that the kernel `does` something wrong; names `where` in the first warning only.
  void warn(const std::string& does, const std::string& where);
  /// Returns whether the byte at an address was written since its buffer was made, and up to which
  /// byte that is the same. Memory whose use is not known counts as written.
  [[nodiscard]] Pieces::Stretch written(std::uint64_t address, std::uint64_t bytes) const;
  /// Notes that the run has read bytes of a buffer within these. Warns if the program has sent
  /// bytes there since it started the run.
  void read_between(std::uint64_t address, std::uint64_t bytes);
  /// Warns that the kernel read a byte that was never written.
  void reads_unwritten(std::uint64_t address);
  /// Returns the bytes of a buffer from an address on; 0 without a buffer.
  [[nodiscard]] std::uint64_t bytes_at(std::uint64_t address) const;

  /// Returns the bytes read and written so far, by port. Each argument that is a buffer has a port
  /// for each bank and direction. It moves the bytes from the argument's address on up to the
  /// address of the next argument.
  [[nodiscard]] std::vector<PortWork> ports() const;
  /// The same with the names of arguments and memories.
  [[nodiscard]] std::vector<Moved> moved() const;
  /// Clears the counts of `ports`.
  void forget() { traffic_.clear(); }

 private:
  struct Buffer {
    std::uint64_t begin = 0;
    const std::string* name = nullptr;
    std::size_t index = 0;  ///< of the argument
    bool constant = false;  ///< which is declared const
  };
  struct Traffic {
    const Buffer* buffer = nullptr;  ///< null: below all
    const MemoryRange* memory = nullptr;
    PortWork work;
  };

  [[nodiscard]] const Buffer* buffer_of(std::uint64_t address) const;
  [[nodiscard]] static bool points_into(const Buffer& argument, const BufferUse& use);
  [[nodiscard]] std::optional<NamedArgument> named(const Buffer* buffer) const;
  [[nodiscard]] std::optional<NamedArgument> exchanged_with(const Buffer& read) const;
  void note_given();
  void note_read(std::uint64_t address);
  void note_write(std::uint64_t address, std::uint64_t bytes);
  void check_constant(std::uint64_t address);
  [[nodiscard]] bool of_host(std::uint64_t address) const;
  void warn(std::uint64_t address, std::uint64_t bytes, const char* does);
  /// Throws UnsetArgumentError where an address lies in no memory and arguments are 0 that may have
  /// led there, MemoryError for any other address out of memory.
  void check_range(std::uint64_t address, std::uint64_t bytes, const char* does) const;
  void get(std::uint64_t address, std::span<std::byte> to, bool warns);
  void put(std::uint64_t address, std::span<const std::byte> from, bool warns);
  void read_host(std::uint64_t address, std::span<std::byte> to, bool warns);
  void write_host(std::uint64_t address, std::span<const std::byte> from, bool warns);

  const Description* description_;
  CardMemory* card_;
  ProgramMemory* host_;
  Warnings* warnings_;
  const ComputeUnit* unit_;
  std::vector<Buffer> buffers_;  ///< by address
  std::vector<Traffic> traffic_;
  std::uint64_t run_;    ///< its number
  std::uint64_t start_;  ///< number of the program's start of that run; 0: nobody watches it
  HostLooks* looks_;     ///< null: not known
};

/// A word of a stream: data, equally wide on both sides, and sideband signals, TLAST first. As many
/// sideband bytes are copied as both sides have.
struct StreamWord {
  std::span<std::byte> data;
  std::span<std::byte> sideband;
};

enum class StreamWait : std::uint8_t {
  wait,       ///< until there are data, or room
  try_now,    ///< fails without data, or room
  look,       ///< the same, and nothing is moved
  this_clock  ///< the same; fails also if data or room come later than `cycles`
};

enum class StreamAnswer : std::uint8_t { done, not_now, gone };

/// The streams of one run of a kernel, by the number of its argument; `cycles` is what its logic
/// has taken so far, without waits. Where the answer is `gone` the card is closed, or the kernel is
/// started anew after its end: the function must end.
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
  /// Waits until one of the arguments has data, or room; without arguments until the function must
  /// end. If `cycles` is less than before, the difference was a wait. A caller that `computes`
  /// meanwhile gets `not_now` if nothing else can go on.
  virtual StreamAnswer wait(std::span<const std::uint32_t> arguments, std::uint64_t cycles,
                            bool computes) = 0;
  /// Ends the run with this outcome. Returns whether its kernel may still move words, until a call
  /// returns `gone`.
  virtual bool done(const KernelOutcome& outcome) = 0;
};

/// One run: where the arguments are, and what can be reached.
struct KernelRun {
  const ComputeUnit* unit;
  std::span<std::byte> registers;
  Reach* reach;
  Timing* timing;
  StreamAccess* streams = nullptr;  ///< null: no stream is connected
  /// To be called by a model whose kernel's computing is unknown or estimated, as soon as it can:
  /// the kernel may never end.
  std::function<void(Source)> computing_is{};
  /// To be called by a model that does not check the depths of streams in its DATAFLOW regions.
  std::function<void()> depths_are_unchecked{};

  /// Argument `index`, of up to eight bytes.
  [[nodiscard]] std::uint64_t argument(std::size_t index) const;
  /// Result `index` of the card's own kernels, behind the arguments; left out where it has no room.
  void result(std::size_t index, std::uint64_t value) const;
};

class KernelModel {
 public:
  KernelModel() = default;
  KernelModel(const KernelModel&) = delete;
  KernelModel& operator=(const KernelModel&) = delete;
  virtual ~KernelModel() = default;

  /// Does all of its work at once.
  virtual KernelOutcome run(const KernelRun& run) = 0;
};

/// Returns the plug-in of that name in one of the folders, else the card's own kernel. Throws
/// KernelError if there is neither, or if the unit lacks arguments.
std::unique_ptr<KernelModel> make_kernel(const ComputeUnit& unit,
                                         const std::vector<std::string>& folders);

/// Returns the outcome of a run with these accesses, done `sweeps` times.
KernelOutcome outcome_of(const KernelRun& run, std::uint64_t sweeps);

}  // namespace isthmus::card::process

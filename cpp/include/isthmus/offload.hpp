// An offload, phase by phase: c = a + b of 32-bit integers on a device, from nothing to a result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/engine.hpp"

namespace isthmus {

/// Name of the kernel in a binary: (in1, in2, out, size).
inline constexpr const char* vadd_kernel = "vadd";

/// An element of a vector, wherever in memory it begins.
using Element = std::int32_t __attribute__((aligned(1), may_alias));

/// The machine or the user's limits do not allow it; the message says what would.
class UnavailableError : public BackendError {
 public:
  using BackendError::BackendError;
};

/// The operands where the host finds them.
struct Vectors {
  Element* a = nullptr;
  Element* b = nullptr;
  Element* c = nullptr;
  std::size_t elements = 0;
};

/// Fresh operands that `seed` decides; the result is not touched.
void populate(const Vectors& vectors, std::uint64_t seed);
/// Whether c is the sum of what `populate` gave the operands, element by element.
[[nodiscard]] bool adds_up(const Vectors& vectors, std::uint64_t seed);
/// The same add on the host: an element at a time, and with vector instructions.
void software_vadd(const Vectors& vectors);
void software_vadd_simd(const Vectors& vectors);

/// Operands in host memory of a kind that HostBuffer knows; the result begins `relative_offset`
/// bytes further into its page than the operands into theirs. Throws UnavailableError.
class HostVectors {
 public:
  HostVectors(const std::string& kind, std::size_t elements, std::size_t relative_offset);
  [[nodiscard]] Vectors get() const;

 private:
  std::size_t elements_;
  std::size_t relative_offset_;
  HostBuffer a_;
  HostBuffer b_;
  HostBuffer c_;
};

/// Time that calls into emulated cards have taken, in femtoseconds modulo 2^64.
using CardClock = std::uint64_t (*)();

/// One phase of one offload.
struct PhaseSample {
  std::string name;
  Ticks ticks = 0;                ///< of the host clock; none where all is simulated
  std::int64_t simulated_fs = 0;  ///< on an emulated card
  Probe probe = {};               ///< of the whole process; without steal
};

/// Times phases one after another, so that none is in another. What lies between two belongs to
/// neither: it is the remainder.
class Phases {
 public:
  /// `card`: the clock of a card that is emulated below a real runtime, which both are timed.
  explicit Phases(CardClock card = nullptr);

  /// Does `work` as (a further piece of) the phase of this name.
  template <class Work>
  void operator()(const char* name, const Work& work) {
    const Probe before = usage();
    const std::uint64_t card_before = card_now();
    const Ticks begin = clock_->start();
    work();
    const Ticks end = clock_->stop();
    PhaseSample& phase = find(name);
    phase.ticks += end - begin;
    phase.simulated_fs += static_cast<std::int64_t>(card_now() - card_before);
    add_usage(phase, before);
    last_ = end;
  }
  /// A phase that an emulated card took so long for.
  void simulated(const char* name, std::int64_t femtoseconds) {
    find(name).simulated_fs += femtoseconds;
  }

  /// From construction to the end of the last phase: adds `remainder` and `total`.
  void close();

  [[nodiscard]] const std::vector<PhaseSample>& samples() const noexcept { return samples_; }

 private:
  static Probe usage();
  static void add_usage(PhaseSample& phase, const Probe& before);
  PhaseSample& find(const char* name);
  void gather(const char* from, const char* into);
  [[nodiscard]] std::uint64_t card_now() const { return card_ != nullptr ? card_() : 0; }

  const HostClock* clock_;
  CardClock card_;
  std::vector<PhaseSample> samples_;
  Probe at_first_;
  Ticks first_;
  Ticks last_;
};

/// A vector add on one device in this process. Nothing of the device or of its runtime is touched
/// before `prepare`.
class Offload {
 public:
  explicit Offload(const OperationSpec& spec);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;
  virtual ~Offload() = default;

  /// What a process does once: `initialise`, `program_device`.
  virtual void prepare(Phases& phases) = 0;
  /// One offload, `allocate` to `read_back`; its operands are what `populate` makes of `seed`.
  virtual void run(Phases& phases, std::uint64_t seed) = 0;
  /// Whether `run` leaves the sums in the result.
  [[nodiscard]] virtual bool computes() const { return true; }
  /// Whether wrong sums are a fault: not where nothing is behind the API. Asked after such sums.
  [[nodiscard]] virtual bool verifiable() const { return true; }
  /// All three vectors for the host to read and write, after `run`; nothing where no data move.
  virtual std::optional<Vectors> result() = 0;
  /// An emulated host adds in simulated time: true where it did, in place of a real add.
  virtual bool simulate_adds(Phases& /*phases*/) { return false; }
  /// Gives back what `run` allocated.
  virtual void release() = 0;

  /// An emulated card is below its runtime, and has this clock.
  void set_card_clock(CardClock clock) { card_clock_ = clock; }
  [[nodiscard]] CardClock card_clock() const { return card_clock_; }

  /// The next runs are of this kind of memory, handed over in this way; not of another size.
  void set_spec(const OperationSpec& spec);

  [[nodiscard]] const OperationSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& memory() const { return spec_.memory; }
  [[nodiscard]] std::size_t elements() const { return spec_.bytes / sizeof(Element); }
  [[nodiscard]] std::size_t bytes() const { return elements() * sizeof(Element); }
  /// Axis `relative_offset`; 0 where the memory has none.
  [[nodiscard]] std::size_t relative_offset() const { return relative_offset_; }

 private:
  OperationSpec spec_;
  std::size_t relative_offset_;
  CardClock card_clock_ = nullptr;
};

/// What one process brought.
struct OffloadRecord {
  std::vector<PhaseSample> first;               ///< everything for the first time
  std::vector<std::vector<PhaseSample>> again;  ///< the same without `prepare`, once it is warm
  /// The reference's offloads: each was measured right before or right after one of `again`.
  std::vector<std::vector<PhaseSample>> reference = {};
  Verified verified = Verified::na;
  std::string fault;
  double steal_s = 0;
  double wall_s = 0;
};

/// Runs an offload once and `again` times more, checks every element, and does the same add on the
/// host where the data are in its memory and nothing is simulated: to be called once in a process.
/// `reference` is another kind of memory, which takes turns with the offload's after the first:
/// what differs from process to process is then in both alike. The host then adds only once.
OffloadRecord measure_offload(Offload& offload, unsigned again,
                              const std::optional<OperationSpec>& reference = std::nullopt);

/// The phases of a device that has memory of its own: with or without `map`.
std::vector<std::string> device_phases(bool map);
/// Leaves out the adds in software.
void drop_adds(OperationInfo& offload);
/// An offload of these phases, then `remainder`, `total` and, where `on_host`, the adds in
/// software.
OperationInfo offload_of(const std::vector<std::string>& phases, bool on_host = true);
/// The same from any kind of host memory, with its axis `relative_offset`.
OperationInfo user_offload(const std::vector<std::string>& phases, bool on_host = true);
/// Kinds of host memory that an offload can begin in: how it is asked for, and offsets in a page.
std::vector<std::string> user_memory_kinds();

}  // namespace isthmus

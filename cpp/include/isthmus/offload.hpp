// Offloads, timed in phases: c = a + b of 32-bit integers on a device, with all set-up.
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

/// An element of a vector, at any alignment.
using Element = std::int32_t __attribute__((aligned(1), may_alias));

/// The machine or the user's limits do not allow an offload; the message contains the remedy.
class UnavailableError : public BackendError {
 public:
  using BackendError::BackendError;
};

/// The operands and the result in host memory.
struct Vectors {
  Element* a = nullptr;
  Element* b = nullptr;
  Element* c = nullptr;
  std::size_t elements = 0;
};

/// Writes operands derived from `seed`; does not touch the result.
void populate(const Vectors& vectors, std::uint64_t seed);
/// Writes to c values that differ from the sums in every bit.
void spoil(const Vectors& vectors, std::uint64_t seed);
/// Whether each element of c is the sum of the operands that `populate` wrote.
[[nodiscard]] bool adds_up(const Vectors& vectors, std::uint64_t seed);
/// The addition on the host: element by element, and with vector instructions.
void software_vadd(const Vectors& vectors);
void software_vadd_simd(const Vectors& vectors);

/// Vectors in a kind of host memory of HostBuffer; the offset of the result in its page is larger
/// by `relative_offset` bytes than that of the operands. Throws UnavailableError.
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

/// Simulated time of all calls to emulated cards, in femtoseconds modulo 2^64.
using CardClock = std::uint64_t (*)();

/// One phase of one offload.
struct PhaseSample {
  std::string name;
  Ticks ticks = 0;                ///< of the host clock; 0 if all is simulated
  std::int64_t simulated_fs = 0;  ///< on an emulated card
  Probe probe = {};               ///< of the whole process; without steal
};

/// Times consecutive phases, which do not overlap. Time between two phases is the remainder.
class Phases {
 public:
  /// `card`: the clock of a card that is emulated below a real runtime; both clocks are read.
  explicit Phases(CardClock card = nullptr);

  /// Executes `work`, and adds its time to the phase of this name.
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
  /// Adds simulated time to a phase.
  void simulated(const char* name, std::int64_t femtoseconds) {
    find(name).simulated_fs += femtoseconds;
  }

  /// Adds `remainder` and `total`, the time from construction to the end of the last phase.
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

/// A vector addition on one device in this process. Does not access the device or its runtime
/// before `prepare`.
class Offload {
 public:
  explicit Offload(const OperationSpec& spec);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;
  virtual ~Offload() = default;

  /// Phases that a process executes once: `initialise`, `program_device`.
  virtual void prepare(Phases& phases) = 0;
  /// One offload, from `allocate` to `read_back`, with operands that `populate` derives from
  /// `seed`.
  virtual void run(Phases& phases, std::uint64_t seed) = 0;
  /// Whether `run` leaves the sums in the result.
  [[nodiscard]] virtual bool computes() const { return true; }
  /// Whether wrong sums are a fault; false if the API has no device. Called after wrong sums.
  [[nodiscard]] virtual bool verifiable() const { return true; }
  /// All three vectors, for access by the host after `run`; nothing if no data are moved.
  virtual std::optional<Vectors> result() = 0;
  /// Simulates the addition on an emulated host; returns whether it replaces a real addition.
  virtual bool simulate_adds(Phases& /*phases*/) { return false; }
  /// Frees the memory that `run` allocated.
  virtual void release() = 0;

  /// Sets the clock of an emulated card below the runtime.
  void set_card_clock(CardClock clock) { card_clock_ = clock; }
  [[nodiscard]] CardClock card_clock() const { return card_clock_; }

  /// Sets kind of memory and hand-over of the next runs; the size must not change.
  void set_spec(const OperationSpec& spec);

  [[nodiscard]] const OperationSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& memory() const { return spec_.memory; }
  [[nodiscard]] std::size_t elements() const { return spec_.bytes / sizeof(Element); }
  [[nodiscard]] std::size_t bytes() const { return elements() * sizeof(Element); }
  /// Axis `relative_offset`; 0 if the memory has none.
  [[nodiscard]] std::size_t relative_offset() const { return relative_offset_; }

 private:
  OperationSpec spec_;
  std::size_t relative_offset_;
  CardClock card_clock_ = nullptr;
};

/// Results of one process.
struct OffloadRecord {
  std::vector<PhaseSample> first;               ///< the first offload, with `prepare`
  std::vector<std::vector<PhaseSample>> again;  ///< repeated offloads, without `prepare`
  /// The reference's offloads: each was measured right before or right after one of `again`.
  std::vector<std::vector<PhaseSample>> reference = {};
  Verified verified = Verified::na;
  std::string fault;
  double steal_s = 0;
  double wall_s = 0;
};

/// Runs an offload once and `again` further times, and checks every element. The host also adds if
/// the data are in its memory and time is not simulated. Call it once in a process. `reference` is
/// another kind of memory, whose offloads alternate with the repeated offloads, so that differences
/// between processes affect both equally; the host then adds only once.
OffloadRecord measure_offload(Offload& offload, unsigned again,
                              const std::optional<OperationSpec>& reference = std::nullopt);

/// The phases of a device with its own memory, with or without `map`.
std::vector<std::string> device_phases(bool map);
/// Removes the additions in software.
void drop_adds(OperationInfo& offload);
/// Describes an offload of these phases, then `remainder`, `total` and, if `on_host`, the additions
/// in software.
OperationInfo offload_of(const std::vector<std::string>& phases, bool on_host = true);
/// Describes such an offload from any kind of host memory, with the axis `relative_offset`.
OperationInfo user_offload(const std::vector<std::string>& phases, bool on_host = true);
/// Kinds of host memory for the vectors of an offload, with allocators and offsets in a page.
std::vector<std::string> user_memory_kinds();

}  // namespace isthmus

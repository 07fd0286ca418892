// Offloads: c = a + b of 32-bit integers on a device with all set-up, timed in phases.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/engine.hpp"

namespace isthmus {

/// Name of the kernel in a device binary; its arguments are (in1, in2, out, size).
inline constexpr const char* vadd_kernel = "vadd";

/// A vector's element, which may lie at any byte address.
using Element = std::int32_t __attribute__((aligned(1), may_alias));

/// The machine or the user's limits do not allow an offload; the message says what helps.
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
/// Fills c with values that differ from the sums in every bit, so that a missing result is found.
void spoil(const Vectors& vectors, std::uint64_t seed);
/// Returns whether each element of c is the sum of the operands that `populate` wrote.
[[nodiscard]] bool adds_up(const Vectors& vectors, std::uint64_t seed);
/// Adds on the host: software_vadd element by element, software_vadd_simd by vector instructions.
void software_vadd(const Vectors& vectors);
void software_vadd_simd(const Vectors& vectors);

/// Owns vectors in a kind of HostBuffer's memory. The result lies `relative_offset` bytes further
/// into its page than the operands do. Throws UnavailableError.
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

/// A function that returns the simulated time of all calls to emulated cards, in femtoseconds
/// modulo 2^64.
using CardClock = std::uint64_t (*)();

/// One phase of one offload.
struct PhaseSample {
  std::string name;
  Ticks ticks = 0;                ///< ticks of the host's clock; 0 if the whole phase is simulated
  std::int64_t simulated_fs = 0;  ///< femtoseconds on an emulated card
  Probe probe = {};               ///< disturbances of the whole process, without steal
};

/// Times consecutive phases of an offload. The time between phases is the remainder.
class Phases {
 public:
  /// `card` is the clock of an emulated card below a real runtime: both clocks are then read.
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
  /// Adds femtoseconds of simulated time to the phase of this name.
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

/// A vector addition on one device in this process. Nothing accesses the device or its runtime
/// before `prepare`.
class Offload {
 public:
  explicit Offload(const OperationSpec& spec);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;
  virtual ~Offload() = default;

  /// Phases that a process executes once: `initialise`, `program_device`.
  virtual void prepare(Phases& phases) = 0;
  /// Executes one offload, from `allocate` to `read_back`; `populate` writes its operands from
  /// `seed`.
  virtual void run(Phases& phases, std::uint64_t seed) = 0;
  /// Returns whether `run` writes the sums to the result.
  [[nodiscard]] virtual bool computes() const { return true; }
  /// Returns whether wrong sums are a fault, which they are not if the API has no device. Called
  /// after wrong sums.
  [[nodiscard]] virtual bool verifiable() const { return true; }
  /// Returns the three vectors for access by the host after `run`; nothing if no data are moved.
  virtual std::optional<Vectors> result() = 0;
  /// Adds simulated times of the additions on an emulated host. Returns whether they replace real
  /// additions.
  virtual bool simulate_adds(Phases& /*phases*/) { return false; }
  /// Frees the memory that `run` allocated.
  virtual void release() = 0;

  /// Sets the clock of an emulated card below the runtime.
  void set_card_clock(CardClock clock) { card_clock_ = clock; }
  [[nodiscard]] CardClock card_clock() const { return card_clock_; }

  /// Sets the kind of memory and the axes of the next runs; throws UsageError if the size changes.
  void set_spec(const OperationSpec& spec);

  [[nodiscard]] const OperationSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& memory() const { return spec_.memory; }
  [[nodiscard]] std::size_t elements() const { return spec_.bytes / sizeof(Element); }
  [[nodiscard]] std::size_t bytes() const { return elements() * sizeof(Element); }
  /// Returns the value of axis `relative_offset` in bytes, or 0 without that axis.
  [[nodiscard]] std::size_t relative_offset() const { return relative_offset_; }

 private:
  OperationSpec spec_;
  std::size_t relative_offset_;
  CardClock card_clock_ = nullptr;
};

/// What `measure_offload` measured in one process.
struct OffloadRecord {
  std::vector<PhaseSample> first;               ///< the first offload, with the phases of `prepare`
  std::vector<std::vector<PhaseSample>> again;  ///< repeated offloads, without `prepare`
  /// Offloads of the reference: each was measured directly before or after one of `again`.
  std::vector<std::vector<PhaseSample>> reference = {};
  Verified verified = Verified::na;
  std::string fault;
  double steal_s = 0;
  double wall_s = 0;
};

/// Runs an offload once and `again` further times, and checks every element of the results. The
/// host also adds, if it can access the data and time is not simulated. Call it once in a process.
///
/// `reference` is another kind of memory, whose offloads alternate with the further ones:
/// differences between processes then affect both equally. The host then adds only once.
OffloadRecord measure_offload(Offload& offload, unsigned again,
                              const std::optional<OperationSpec>& reference = std::nullopt);

/// Returns the names of the phases on a device with its own memory, with or without `map`.
std::vector<std::string> device_phases(bool map);
/// Removes the additions on the host from an offload's parts.
void drop_adds(OperationInfo& offload);
/// Describes an offload of these phases, followed by `remainder`, `total` and, if `on_host`, the
/// additions on the host.
OperationInfo offload_of(const std::vector<std::string>& phases, bool on_host = true);
/// Describes such an offload with vectors in any kind of host memory, and axis `relative_offset`.
OperationInfo user_offload(const std::vector<std::string>& phases, bool on_host = true);
/// Returns the kinds of host memory for an offload's vectors, those of `allocators` included.
std::vector<std::string> user_memory_kinds();

}  // namespace isthmus

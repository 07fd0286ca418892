// The engine: times an operation until the answer is certain, and proves that data moved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/clock.hpp"
#include "isthmus/progress.hpp"

namespace isthmus {

/// Noise seen while a block ran; steal is of the whole machine, the rest of the timing thread.
struct Probe {
  double steal_s = 0;
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
};

enum class Verified : std::uint8_t { yes, no, na };

/// Samples of one part from one block.
struct PartSamples {
  std::vector<Ticks> ticks;  ///< raw, of the host clock; each covers `batch` repetitions
  /// Where a pair is timed one by one in a batch: empty intervals, one beside each that is in a
  /// sample, in sum. A processor that changed its frequency has made others of those that the clock
  /// knows.
  std::vector<Ticks> empty_ticks;
  std::vector<double> device_seconds;      ///< per repetition; empty without a device clock
  std::vector<std::int64_t> simulated_fs;  ///< per repetition, of an emulated card
  std::optional<Ticks> cold;               ///< first repetition of all, in the first block only
  std::uint64_t moved_bytes = 0;
};

/// What one visit to a point brought.
struct Block {
  std::vector<PartSamples> parts;
  std::uint64_t batch = 1;
  /// Timed intervals within one sample: 1, or `batch` where the parts of a pair had to be timed
  /// one by one. The empty pair is to be taken off as often.
  std::uint64_t intervals = 1;
  Verified verified = Verified::na;
  std::vector<std::string> remarks;  ///< flags for the run file
  std::string fault;                 ///< what the verification missed, "" when nothing
  Probe probe;
  double setup_s = 0;
  double block_s = 0;
  std::string state;  ///< "open", "precision", "samples" or "time"
};

/// One point, visited block by block until it is done: `Series` and `JointSeries`.
///
/// Every block makes the operation anew (its buffers exist only meanwhile), runs it once with full
/// verification (the cold sample, in the first block), then samples with a fresh stamp each, and
/// once more with full verification.
///
/// An emulated card says how long each repetition took. A block is a fixed count of fully verified
/// repetitions, and ends the series. Nothing is timed, unless real software runs above the card.
template <class AnyOperation>
class VisitedSeries {
 public:
  VisitedSeries(const VisitedSeries&) = delete;
  VisitedSeries& operator=(const VisitedSeries&) = delete;

  /// One visit of at most about `most_seconds`. Throws what the backend throws: that block is lost,
  /// the series can go on.
  Block measure(double most_seconds);

  [[nodiscard]] const std::string& state() const noexcept { return progress_.state_name(); }

 protected:
  VisitedSeries(Device& device, OperationSpec spec, const SeriesOptions& options);
  ~VisitedSeries() = default;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] const OperationSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const SeriesOptions& options() const noexcept { return options_; }
  [[nodiscard]] const HostClock& clock() const noexcept { return *clock_; }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }
  /// Repetitions in a sample; 0: not calibrated yet.
  [[nodiscard]] std::uint64_t batch() const noexcept { return batch_; }

 private:
  Block visit(Ticks begin, double most_seconds);

  /// Makes the operation and the parts of the block.
  virtual std::unique_ptr<AnyOperation> open(Block& block) = 0;
  virtual void sample_simulated(AnyOperation& operation, Block& block) = 0;
  /// A round with full verification, the cold sample where `keep_cold` says so; a fault says
  /// `when`.
  virtual void verify(AnyOperation& operation, Block& block, const char* when, bool keep_cold) = 0;
  /// How many repetitions a sample is to have.
  [[nodiscard]] virtual std::uint64_t calibrated(AnyOperation& operation) = 0;
  virtual void sample_once(AnyOperation& operation, Block& block) = 0;
  [[nodiscard]] virtual bool goes_on(const Progress::Visit& visit);
  /// The same duration on all ranks.
  [[nodiscard]] virtual double agreed(double seconds) { return seconds; }
  /// Completes the block with what the operation says.
  virtual void close(AnyOperation& operation, Block& block) = 0;

  Device* device_;
  OperationSpec spec_;
  SeriesOptions options_;
  const HostClock* clock_;
  Progress progress_;
  std::uint64_t batch_ = 0;
  bool cold_taken_ = false;
};

/// One operation of one device in this process.
class Series final : public VisitedSeries<Operation> {
 public:
  Series(Device& device, OperationSpec spec, const SeriesOptions& options = {});

 private:
  std::unique_ptr<Operation> open(Block& block) override;
  void sample_simulated(Operation& operation, Block& block) override;
  void sample_software(Operation& operation, Block& block);
  void verify(Operation& operation, Block& block, const char* when, bool keep_cold) override;
  [[nodiscard]] std::uint64_t calibrated(Operation& operation) override;
  void sample_once(Operation& operation, Block& block) override;
  void close(Operation& operation, Block& block) override;
  [[nodiscard]] double per_repetition(Ticks ticks, double empty_s) const;
};

}  // namespace isthmus

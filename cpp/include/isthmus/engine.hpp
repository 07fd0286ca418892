// The engine: times an operation until its interval is narrow enough, and verifies moved data.
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

/// Disturbances while a block ran; steal is of the whole machine, the rest of the timing thread.
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
  /// If the parts of a pair are timed singly in a batch: sum of empty intervals, one next to each
  /// interval in the sample: the processor's frequency may have changed since calibration.
  std::vector<Ticks> empty_ticks;
  std::vector<double> device_seconds;      ///< per repetition; empty without a device clock
  std::vector<std::int64_t> simulated_fs;  ///< per repetition, of an emulated card
  std::optional<Ticks> cold;               ///< first repetition, in the first block only
  std::uint64_t moved_bytes = 0;
};

/// Results of one visit to a point.
struct Block {
  std::vector<PartSamples> parts;
  std::uint64_t batch = 1;
  /// Timed intervals in one sample: 1, or `batch` if the parts of a pair are timed singly. That
  /// many empty intervals are subtracted.
  std::uint64_t intervals = 1;
  Verified verified = Verified::na;
  std::vector<std::string> remarks;  ///< flags for the run file
  std::string fault;                 ///< failed verification, "" if none failed
  Probe probe;
  double setup_s = 0;
  double block_s = 0;
  std::string state;  ///< "open", "precision", "samples" or "time"
};

/// A series of samples of one point, measured in blocks: base of `Series` and `JointSeries`.
///
/// Every block creates a new operation, whose buffers exist only in the block. It runs it once with
/// full verification (in the first block the cold sample), then takes samples, each with a fresh
/// stamp, and ends with another full verification.
///
/// An emulated card reports the duration of each repetition. A block is then a fixed number of
/// fully verified repetitions and ends the series; host time is measured only if real software runs
/// above the card.
template <class AnyOperation>
class VisitedSeries {
 public:
  VisitedSeries(const VisitedSeries&) = delete;
  VisitedSeries& operator=(const VisitedSeries&) = delete;

  /// Makes one visit of at most about `most_seconds`. Throws the backend's exceptions: that block
  /// is lost, and the series can continue.
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
  /// Runs one round with full verification; it is the cold sample if `keep_cold`. `when` is part of
  /// fault messages.
  virtual void verify(AnyOperation& operation, Block& block, const char* when, bool keep_cold) = 0;
  /// Calibrates the number of repetitions in a sample.
  [[nodiscard]] virtual std::uint64_t calibrated(AnyOperation& operation) = 0;
  virtual void sample_once(AnyOperation& operation, Block& block) = 0;
  [[nodiscard]] virtual bool goes_on(const Progress::Visit& visit);
  /// Makes a duration equal on all ranks.
  [[nodiscard]] virtual double agreed(double seconds) { return seconds; }
  /// Completes the block with remarks and faults of the operation.
  virtual void close(AnyOperation& operation, Block& block) = 0;

  Device* device_;
  OperationSpec spec_;
  SeriesOptions options_;
  const HostClock* clock_;
  Progress progress_;
  std::uint64_t batch_ = 0;
  bool cold_taken_ = false;
};

/// A series of one operation of one device in this process.
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

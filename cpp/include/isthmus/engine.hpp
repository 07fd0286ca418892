// The engine times an operation until the interval of its median is narrow enough, and verifies the
// data that the operation moves.
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

/// Disturbances while a block ran: steal of the whole machine, the other counts of the timing
/// thread.
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
  std::vector<Ticks> ticks;  ///< ticks of the host's clock; each covers `batch` repetitions
  /// Filled if the parts of a pair are timed alone within a batch: per sample, the sum of empty
  /// intervals, one measured next to each timed interval. The processor's frequency may have
  /// changed since calibration.
  std::vector<Ticks> empty_ticks;
  std::vector<double> device_seconds;      ///< seconds per repetition; empty without a device clock
  std::vector<std::int64_t> simulated_fs;  ///< femtoseconds per repetition on an emulated card
  std::optional<Ticks> cold;               ///< first repetition of all, in the first block only
  std::uint64_t moved_bytes = 0;
};

/// Results of one visit to a point.
struct Block {
  std::vector<PartSamples> parts;
  std::uint64_t batch = 1;
  /// Timed intervals that a sample adds up: 1, or `batch` if the parts of a pair are timed alone.
  /// As many empty intervals are subtracted from the sample.
  std::uint64_t intervals = 1;
  Verified verified = Verified::na;
  std::vector<std::string> remarks;  ///< the operation's flags for the run file
  /// What the first failed verification found, "" if none failed.
  std::string fault;
  Probe probe;
  double setup_s = 0;
  double block_s = 0;
  std::string state;  ///< "open", or what ended the series: "precision", "samples" or "time"
};

/// A series of samples of one point, measured in blocks: base of `Series` and `JointSeries`.
///
/// Every block creates a new operation, whose buffers exist only in the block. It runs it once with
/// full verification (in the first block the cold sample), then takes samples, each with a fresh
/// stamp, and ends with another full verification.
///
/// An emulated card reports the simulated time of each repetition. One block of `simulated_samples`
/// fully verified runs then ends the series; host time is sampled only if real software runs above
/// the card.
template <class AnyOperation>
class VisitedSeries {
 public:
  VisitedSeries(const VisitedSeries&) = delete;
  VisitedSeries& operator=(const VisitedSeries&) = delete;

  /// Makes one visit of at most about `most_seconds`. If the backend throws, the block is lost, the
  /// exception passes on, and `measure` may be called again.
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
  /// Returns the repetitions in a sample; 0 before calibration.
  [[nodiscard]] std::uint64_t batch() const noexcept { return batch_; }

 private:
  Block visit(Ticks begin, double most_seconds);

  /// Creates the operation, and the block's entry for each of its parts.
  virtual std::unique_ptr<AnyOperation> open(Block& block) = 0;
  virtual void sample_simulated(AnyOperation& operation, Block& block) = 0;
  /// Runs one round with full verification; `keep_cold` stores its time as the cold sample.
  /// Messages about faults contain `when`.
  virtual void verify(AnyOperation& operation, Block& block, const char* when, bool keep_cold) = 0;
  /// Returns the repetitions that a sample needs, found by timed trials.
  [[nodiscard]] virtual std::uint64_t calibrated(AnyOperation& operation) = 0;
  virtual void sample_once(AnyOperation& operation, Block& block) = 0;
  [[nodiscard]] virtual bool goes_on(const Progress::Visit& visit);
  /// Returns the same duration on all ranks; without ranks the argument.
  [[nodiscard]] virtual double agreed(double seconds) { return seconds; }
  /// Adds the operation's remarks and fault to the finished block.
  virtual void close(AnyOperation& operation, Block& block) = 0;

  Device* device_;
  OperationSpec spec_;
  SeriesOptions options_;
  const HostClock* clock_;
  Progress progress_;
  std::uint64_t batch_ = 0;
  bool cold_taken_ = false;
};

/// Times one operation of one device in this process.
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

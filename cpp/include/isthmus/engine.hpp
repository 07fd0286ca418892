// The engine: times an operation until the answer is certain, and proves that data moved.
#pragma once

#include <cstdint>
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

/// One operation of one device in this process, visited block by block until it is done.
///
/// Every block makes the operation anew (its buffers exist only meanwhile), runs it once with full
/// verification (the cold sample, in the first block), then samples with a fresh stamp each, and
/// once more with full verification.
///
/// An emulated card says how long each repetition took. A block is a fixed count of fully verified
/// repetitions, and ends the series. Nothing is timed, unless real software runs above the card.
class Series {
 public:
  Series(Device& device, OperationSpec spec, SeriesOptions options = {});

  /// One visit of at most about `most_seconds`. Throws what the backend throws: that block is lost,
  /// the series can go on.
  Block measure(double most_seconds);

  [[nodiscard]] const std::string& state() const noexcept { return progress_.state_name(); }

 private:
  Block visit(Ticks begin, double most_seconds);
  void sample_simulated(Operation& operation, Block& block);
  void sample_software(Operation& operation, Block& block);
  void calibrate_batch(Operation& operation);
  void run_verified_once(Operation& operation, Block& block, bool keep_cold);
  void sample_once(Operation& operation, Block& block);
  [[nodiscard]] double per_repetition(Ticks ticks, double empty_s) const;

  Device* device_;
  OperationSpec spec_;
  SeriesOptions options_;
  const HostClock* clock_;
  Progress progress_;
  std::uint64_t batch_ = 0;  // 0: not calibrated yet
  std::uint64_t intervals_ = 1;
  bool cold_taken_ = false;
};

}  // namespace isthmus

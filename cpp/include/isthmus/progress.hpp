// Counts the samples of a series over its visits, and decides when a visit and the series end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/stopping.hpp"

namespace isthmus {

struct SeriesOptions {
  double precision = 0.02;  ///< relative half-width of the interval to reach
  double confidence = 0.95;
  double least_block_s = 0.05;  ///< shortest sampling in a visit
  double most_seconds = 10.0;   ///< most seconds of a series, set-ups included
  std::size_t most_samples = 25'600;
  /// Seconds of an operation; shorter operations are timed in batches ....
  double batch_below_s = 1e-6;
  double least_batch_s = 10e-6;  ///< ... of at least this duration
  /// Seconds: joint operations are timed in loops of at least this duration ....
  double loop_s = 2.5e-3;
  std::uint64_t most_loop = std::uint64_t{1} << 20U;  ///< ... and at most this many repetitions
};

class Progress {
 public:
  enum class State : std::uint8_t { open, precision, samples, time };

  explicit Progress(const SeriesOptions& options) : options_(options) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  /// Returns "open", or what ended the series: "precision", "samples" or "time".
  [[nodiscard]] const std::string& state_name() const noexcept;
  void set_state(State state) noexcept { state_ = state; }

  /// Begins a visit to an operation of `parts` parts; throws std::invalid_argument for invalid
  /// options.
  void begin_visit(std::size_t parts);
  /// Adds a sample of one part on the host's clock, in seconds per repetition.
  void add(std::size_t part, double seconds) { seconds_[part].push_back(seconds); }
  /// Adds a sample on the device's clock, in seconds per repetition; its interval must be narrow
  /// enough too.
  void add_of_device(std::size_t part, double seconds) {
    seconds_[seconds_.size() / 2 + part].push_back(seconds);
  }

  /// What a visit has used and found after a sample.
  struct Visit {
    double most_seconds = 0;
    double setup_s = 0;
    double sampling_s = 0;
    std::size_t samples = 0;
    double resolution_s = 0;  ///< step of the host's clock, divided by the repetitions in a batch
  };
  /// Returns whether the visit takes another sample. Ends the series if all intervals are narrow
  /// enough, or if the most samples or seconds are reached.
  bool goes_on(const Visit& visit);
  /// Ends a series of simulated times with this visit; `parts` has the times of each part.
  void end_simulated(const std::vector<std::vector<double>>& parts);

  /// Ends a visit of `seconds`; its samples count.
  void keep_visit(double seconds) noexcept;
  /// Discards a visit: its samples do not count, but its time does.
  void drop_visit(double seconds);

 private:
  void look(const Visit& visit);
  void postpone(std::size_t samples);

  SeriesOptions options_;
  // Seconds per repetition: a series for each part on the host's clock, then for each on the
  // device's.
  std::vector<std::vector<double>> seconds_;
  std::vector<StoppingCriterion> criteria_;
  double spent_s_ = 0;
  State state_ = State::open;
  bool looked_ = false;            // whether this visit reached a look
  std::vector<std::size_t> kept_;  // per series: samples of completed visits
  State kept_state_ = State::open;
};

}  // namespace isthmus

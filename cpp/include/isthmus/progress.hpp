// Progress of a series over its visits, and the rules that end a visit and the series.
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
  double least_block_s = 0.05;  ///< shortest visit to a point
  double most_seconds = 10.0;   ///< cap on the time of the series, including set-up
  std::size_t most_samples = 25'600;
  double batch_below_s = 1e-6;   ///< shorter operations are timed in batches ...
  double least_batch_s = 10e-6;  ///< ... of at least this duration
  double loop_s = 2.5e-3;  ///< joint operations are timed in loops of at least this duration ...
  std::uint64_t most_loop = std::uint64_t{1} << 20U;  ///< ... and at most this many repetitions
};

class Progress {
 public:
  enum class State : std::uint8_t { open, precision, samples, time };

  explicit Progress(const SeriesOptions& options) : options_(options) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  /// "open", "precision", "samples" or "time".
  [[nodiscard]] const std::string& state_name() const noexcept;
  void set_state(State state) noexcept { state_ = state; }

  /// Begins a visit to that many parts; throws std::invalid_argument for invalid options.
  void begin_visit(std::size_t parts);
  /// Adds the seconds of a repetition of one part, from the visit's newest sample.
  void add(std::size_t part, double seconds) { seconds_[part].push_back(seconds); }
  /// Adds the seconds by the device's own clock, whose interval must be narrow enough as well.
  void add_of_device(std::size_t part, double seconds) {
    seconds_[seconds_.size() / 2 + part].push_back(seconds);
  }

  /// State of a visit after a sample.
  struct Visit {
    double most_seconds = 0;
    double setup_s = 0;
    double sampling_s = 0;
    std::size_t samples = 0;
    double resolution_s = 0;  ///< of the clock, for one repetition
  };
  /// Whether the visit takes another sample. Ends the series if its interval is narrow enough or a
  /// limit is reached.
  bool goes_on(const Visit& visit);
  /// Ends a series of simulated times, per part, in this visit.
  void end_simulated(const std::vector<std::vector<double>>& parts);

  /// Ends a visit; its samples count.
  void keep_visit(double seconds) noexcept;
  /// Discards a visit: its samples do not count, but its time does.
  void drop_visit(double seconds);

 private:
  void look(const Visit& visit);
  void postpone(std::size_t samples);

  SeriesOptions options_;
  // Per repetition: first all parts by the host's clock, then all by the device's.
  std::vector<std::vector<double>> seconds_;
  std::vector<StoppingCriterion> criteria_;
  double spent_s_ = 0;
  State state_ = State::open;
  bool looked_ = false;            // in this visit
  std::vector<std::size_t> kept_;  // samples of visits that count, per series
  State kept_state_ = State::open;
};

}  // namespace isthmus

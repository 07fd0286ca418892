#include "isthmus/progress.hpp"

#include <algorithm>
#include <array>

namespace isthmus {
namespace {

/// A block may take up to this many times its usual time to reach the series' next look, because a
/// further block would pay the set-up again.
constexpr double block_stretch = 4.0;

}  // namespace

const std::string& Progress::state_name() const noexcept {
  static const std::array<std::string, 4> names = {"open", "precision", "samples", "time"};
  return names[static_cast<std::size_t>(state_)];
}

void Progress::begin_visit(std::size_t parts) {
  seconds_.resize(2 * parts);
  looked_ = false;
  if (criteria_.empty()) {
    criteria_.assign(
        2 * parts, StoppingCriterion(options_.precision, options_.most_samples, options_.confidence,
                                     std::min(first_look, options_.most_samples)));
  }
}

void Progress::keep_visit(double seconds) noexcept {
  kept_.clear();
  for (const std::vector<double>& samples : seconds_) {
    kept_.push_back(samples.size());
  }
  kept_state_ = state_;
  spent_s_ += seconds;
}

void Progress::drop_visit(double seconds) {
  for (std::size_t series = 0; series < seconds_.size(); ++series) {
    seconds_[series].resize(series < kept_.size() ? kept_[series] : 0);
  }
  state_ = kept_state_;
  spent_s_ += seconds;
}

bool Progress::goes_on(const Visit& visit) {
  look(visit);
  if (state_ != State::open) {
    return false;
  }
  const double left = options_.most_seconds - spent_s_;
  if (visit.setup_s + visit.sampling_s >= std::min(visit.most_seconds, left)) {
    if (left <= visit.most_seconds) {
      state_ = State::time;
    }
    return false;
  }
  // Sampling takes at least as long as the set-up, so that set-up is at most half of a block.
  const double aim = std::max(options_.least_block_s, visit.setup_s);
  if (visit.sampling_s < aim || !looked_) {
    return true;
  }
  const std::size_t missing = criteria_.front().next_check() - seconds_.front().size();
  const double each = visit.sampling_s / static_cast<double>(visit.samples);
  return visit.sampling_s + each * static_cast<double>(missing) <= block_stretch * aim;
}

void Progress::end_simulated(const std::vector<std::vector<double>>& parts) {
  state_ = State::precision;
  for (const std::vector<double>& samples : parts) {
    const Interval found = median_interval(samples, options_.confidence);
    if (samples.size() > 1 && found.relative_half_width() > options_.precision) {
      state_ = State::samples;
    }
  }
}

void Progress::postpone(std::size_t samples) {
  for (StoppingCriterion& criterion : criteria_) {
    criterion.postpone(samples);
  }
}

/// Looks at the intervals of all parts. Ends the series if all are narrow enough or the cap is
/// reached, else sets the number of samples at the next look.
void Progress::look(const Visit& visit) {
  using Verdict = StoppingCriterion::Verdict;
  const std::size_t have = seconds_.front().size();
  if (visit.sampling_s < options_.least_block_s && have < options_.most_samples) {
    postpone(have + 1);
    return;
  }
  if (have < criteria_.front().next_check()) {
    return;
  }
  looked_ = true;
  bool capped = false;
  bool open = false;
  for (std::size_t series = 0; series < criteria_.size(); ++series) {
    const std::vector<double>& samples = seconds_[series];
    if (samples.size() != have) {  // no device clock, or it missed a report
      continue;
    }
    const bool on_host = series < criteria_.size() / 2;
    const Verdict verdict =
        criteria_[series].look(samples, on_host ? visit.resolution_s : step_of(samples));
    capped = capped || verdict == Verdict::capped;
    open = open || verdict == Verdict::go_on;
  }
  if (capped) {
    state_ = State::samples;
  } else if (!open) {
    state_ = State::precision;
  } else {
    // The series of one clock may be precise enough first: the next look is common to all series.
    for (const StoppingCriterion& criterion : criteria_) {
      postpone(criterion.next_check());
    }
  }
}

}  // namespace isthmus

// Base class of the card backend's operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/card/card.hpp"

namespace isthmus::card {

/// An operation that starts on a reset card in each run, and keeps each part's simulated time.
class CardOperation : public Operation {
 public:
  CardOperation(Card& card, std::size_t parts) : card_(&card), times_(parts), samples_(parts) {}

  [[nodiscard]] std::size_t parts() const override { return times_.size(); }
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t part) const override {
    return times_.at(part);
  }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    return fast_forwarded_ ? std::vector<std::string>{"fast_forward"} : std::vector<std::string>{};
  }
  [[nodiscard]] std::string fault() const override {
    std::string text;
    for (const Fault& fault : card_->faults()) {
      const bool reads = fault.direction == Direction::h2d;
      text += text.empty() ? "the card " : "; the card ";
      text += reads ? "flipped a bit of a completion (h2d) at byte " : "dropped a write (d2h) of ";
      text += reads ? "" : std::to_string(fault.piece.bytes) + " B at byte ";
      text += std::to_string(fault.piece.offset);
    }
    return text;
  }
  /// Simulated samples are few, so each is verified in full.
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }
  void run(std::size_t part, std::uint64_t repetitions) final {
    card_->reset(samples_.at(part)++);
    times_[part] = simulate(part, repetitions);
    fast_forwarded_ = fast_forwarded_ || card_->fast_forwarded() > 0;
  }

 protected:
  /// Runs a part `repetitions` times on the card without a reset; returns the simulated time.
  virtual Time simulate(std::size_t part, std::uint64_t repetitions) = 0;
  [[nodiscard]] Card& card() const { return *card_; }

 private:
  Card* card_;
  std::vector<Time> times_;
  std::vector<std::uint64_t> samples_;
  bool fast_forwarded_ = false;
};

}  // namespace isthmus::card

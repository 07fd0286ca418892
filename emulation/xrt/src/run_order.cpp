#include "isthmus/card/process/run_order.hpp"

#include <algorithm>

namespace isthmus::card::process {
namespace {

/// Most ended runs whose ends are kept. Later starts count as ordered behind older runs.
constexpr std::size_t most_ends = 4096;

}  // namespace

void RunOrder::end(std::uint64_t number) {
  const std::uint64_t latest = forgotten_ + ends_.size();
  if (number <= forgotten_ || number > latest) {
    return;
  }
  ends_[static_cast<std::size_t>(number - forgotten_ - 1)] = latest;
  while (ended_ < latest && end_of(ended_ + 1) != 0) {
    ++ended_;
  }
  while (ends_.size() > most_ends && ends_.front() != 0) {
    ends_.pop_front();
    ++forgotten_;
  }
}

bool RunOrder::has(const RunOrigin& one, const RunOrigin& other) const {
  if (one.number == 0 || other.number == 0 || one.unit == other.unit ||
      (one.connected && other.connected)) {
    return true;
  }
  const auto [first, second] = std::minmax(one.number, other.number);
  const std::uint64_t end = end_of(first);
  return end != 0 && end < second;
}

bool RunOrder::is_past(std::uint64_t number) const {
  const std::uint64_t end = end_of(number);
  return number == 0 || (end != 0 && end <= ended_);
}

}  // namespace isthmus::card::process

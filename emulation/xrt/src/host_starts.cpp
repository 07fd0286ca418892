#include "isthmus/card/process/host_starts.hpp"

#include <algorithm>

namespace isthmus::card::process {
namespace {

/// Most starts that are kept: the program counts as knowing the end of older starts.
constexpr std::size_t most_starts = 1024;

}  // namespace

void HostStarts::add(std::uint64_t number, std::size_t unit, bool connected) {
  if (number == 0 || misses_ == nullptr) {
    return;
  }
  while (!starts_.empty() && (starts_.size() >= most_starts || !misses_(starts_.front().number))) {
    starts_.pop_front();
  }
  starts_.push_back({.number = number, .unit = unit, .connected = connected});
}

bool HostStarts::is_missed(std::uint64_t number) {
  const auto asked = std::ranges::find(starts_, number, &Start::number);
  if (asked == starts_.end()) {
    return false;
  }
  return std::all_of(asked, starts_.end(), [this, &asked](const Start& later) {
    const bool tells = later.unit == asked->unit || asked->connected;
    return !tells || misses_(later.number);
  });
}

}  // namespace isthmus::card::process

#include "isthmus/card/host.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace isthmus::card {

Residence::Residence(std::int64_t cache_bytes, std::int64_t footprint_bytes) {
  if (cache_bytes < footprint_bytes) {
    const double share = static_cast<double>(cache_bytes) / static_cast<double>(footprint_bytes);
    pages_ = std::llround(share * static_cast<double>(residence_pages));
  }
}

bool Residence::hit(std::int64_t page) const {
  if (!partial()) {
    return pages_ > 0;
  }
  // Odd factors and an xor with a shift scatter 0..4095 one to one.
  auto place = static_cast<std::uint64_t>(page) % residence_pages;
  place = place * 0x9E5U % residence_pages;
  place ^= place >> 6U;
  place = place * 0x6A5U % residence_pages;
  place ^= place >> 7U;
  return std::cmp_less(place, pages_);
}

HostMemory::HostMemory(const HostParameters& parameters)
    : parameters_(parameters),
      memory_byte_(Pace::of_rate(parameters.memory_bandwidth_Bps)),
      latency_(from_nanoseconds(parameters.memory_latency_ns)),
      miss_(from_nanoseconds(parameters.memory_miss_ns)),
      retire_(from_nanoseconds(parameters.write_retire_ns)),
      translation_miss_(from_nanoseconds(parameters.translation_miss_ns)),
      translations_(static_cast<std::size_t>(parameters.translation_entries)) {}

Time HostMemory::delay(Time now, const Access& access) {
  Time ready = now;
  if (!access.translated) {
    ready = walker_.claim(ready, translation_miss_) + translation_miss_;
  }
  if (!access.hit) {
    ready = memory_.claim(ready, memory_byte_.of(access.bytes)) + miss_;
  }
  return ready - now;
}

Time HostMemory::read(Time now, const Access& access) {
  return now + latency_ + delay(now, access);
}

Time HostMemory::write(Time now, const Access& access) {
  last_retired_ = std::max(last_retired_, now + retire_ + delay(now, access));
  return last_retired_;
}

bool HostMemory::translate(std::int64_t stream, std::int64_t page) {
  if (translations_.empty()) {
    return true;
  }
  Translation& entry = translations_[static_cast<std::size_t>(page) % translations_.size()];
  const bool known = entry.stream == stream && entry.page == page;
  entry = {stream, page};
  return known;
}

void HostMemory::reset() {
  memory_ = {};
  walker_ = {};
  last_retired_ = 0;
  std::ranges::fill(translations_, Translation{});
}

void HostMemory::save(State& state, Time now, const std::vector<std::int64_t>& pages) const {
  state.push_back(ahead(memory_.free, now));
  state.push_back(ahead(walker_.free, now));
  state.push_back(ahead(last_retired_, now));
  for (const Translation& entry : translations_) {
    state.push_back(entry.stream);
    state.push_back(entry.stream < 0 ? 0
                                     : entry.page - pages[static_cast<std::size_t>(entry.stream)]);
  }
}

void HostMemory::advance(const std::vector<std::int64_t>& moved) {
  for (Translation& entry : translations_) {
    if (entry.stream >= 0) {
      entry.page += moved[static_cast<std::size_t>(entry.stream)];
    }
  }
}

Time Credits::when(Time now, std::int64_t amount) {
  while (first_ < returns_.size() && returns_[first_].time <= now) {
    left_ += returns_[first_++].amount;
  }
  if (first_ == returns_.size()) {
    returns_.clear();
    first_ = 0;
  }
  std::int64_t expected = left_;
  if (expected >= amount) {
    return now;
  }
  for (std::size_t i = first_; i < returns_.size(); ++i) {
    expected += returns_[i].amount;
    if (expected >= amount) {
      return returns_[i].time;
    }
  }
  return unknown;
}

void Credits::give_back(Time time, std::int64_t amount) {
  if (first_ > 64 && first_ * 2 > returns_.size()) {
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  returns_.push_back({time, amount});
}

void Credits::reset() {
  left_ = all_;
  returns_.clear();
  first_ = 0;
}

void Credits::save(State& state, Time now) const {
  std::int64_t left = left_;
  std::int64_t to_come = 0;
  for (std::size_t i = first_; i < returns_.size(); ++i) {
    if (returns_[i].time <= now) {
      left += returns_[i].amount;
    } else {
      state.push_back(returns_[i].time - now);
      state.push_back(returns_[i].amount);
      ++to_come;
    }
  }
  state.push_back(to_come);
  state.push_back(left);
}

}  // namespace isthmus::card

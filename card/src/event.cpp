#include "isthmus/card/event.hpp"

#include <algorithm>

namespace isthmus::card {
namespace {

constexpr std::size_t children = 4;

}  // namespace

void Simulator::push(Event event) {
  std::size_t at = heap_.size();
  heap_.push_back(event);
  while (at > 0) {
    const std::size_t parent = (at - 1) / children;
    if (!event.before(heap_[parent])) {
      break;
    }
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = event;
}

void Simulator::step() {
  const Event next = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  if (size > 0) {
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = at * children + 1;
      if (first >= size) {
        break;
      }
      std::size_t least = first;
      for (std::size_t i = first + 1; i < std::min(first + children, size); ++i) {
        if (heap_[i].before(heap_[least])) {
          least = i;
        }
      }
      if (!heap_[least].before(last)) {
        break;
      }
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
  }
  now_ = next.time;
  ++events_;
  next.actor->handle(next.payload);
}

void Simulator::reset() {
  heap_.clear();
  now_ = 0;
  sequence_ = 0;
}

void Simulator::save(State& state) const {
  sorted_ = heap_;
  std::ranges::sort(sorted_, [](const Event& a, const Event& b) { return a.before(b); });
  state.push_back(static_cast<std::int64_t>(sorted_.size()));
  for (const Event& event : sorted_) {
    state.push_back(event.time - now_);
    state.push_back(event.actor->id);
    state.push_back(static_cast<std::int64_t>(event.payload));
  }
}

}  // namespace isthmus::card

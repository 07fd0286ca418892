// The event simulator: actors get events in the order of integer times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isthmus/card/time.hpp"

namespace isthmus::card {

/// A machine's state as numbers, with times relative to now: machines of equal state go on alike.
using State = std::vector<std::int64_t>;

/// Returns the time from now until `time`; 0 if `time` is past.
inline Time ahead(Time time, Time now) { return time > now ? time - now : 0; }

/// A receiver of events.
class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  virtual void handle(std::uint64_t payload) = 0;

  /// Number by which a State names this actor.
  std::int64_t id = 0;
};

/// Keeps events in the order of time; events of equal times keep the order of `schedule`.
class Simulator {
 public:
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] bool idle() const { return heap_.empty(); }

  /// Schedules an event. Throws TooLongError for a time before now, because it has overflowed.
  void schedule(Time time, Actor& actor, std::uint64_t payload) {
    if (time < now_) {
      throw TooLongError();
    }
    push({time, sequence_++, &actor, payload});
  }

  /// Delivers the next event to its actor; there must be one.
  void step();
  void run() {
    while (!idle()) {
      step();
    }
  }

  /// Advances the time to `to`; no event may be pending.
  void advance(Time to) { now_ = to > now_ ? to : now_; }

  void reset();
  /// Appends the pending events to a state, in their order and with times relative to now.
  void save(State& state) const;

 private:
  struct Event {
    Time time;
    std::uint64_t sequence;
    Actor* actor;
    std::uint64_t payload;
    [[nodiscard]] bool before(const Event& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };

  void push(Event event);

  std::vector<Event> heap_;  ///< each parent has four children and comes before them
  mutable std::vector<Event> sorted_;
  Time now_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
};

/// Random numbers by splitmix64, which are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t value = state_;
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace isthmus::card

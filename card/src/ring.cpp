#include "isthmus/card/ring.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "isthmus/card/event.hpp"
#include "isthmus/card/host.hpp"

namespace isthmus::card {
namespace {

/// Number of simulated cards that stand for all cards of a larger ring.
constexpr std::int64_t image_cards = 4;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

/// Returns the key from which a message's data are made: different for each link, direction and
/// step.
std::uint64_t key_of(std::uint64_t seed, std::size_t link, std::size_t direction,
                     std::int64_t step) {
  const auto number = (static_cast<std::uint64_t>(step) << 20U) + (link << 1U) + direction;
  return Random(seed + number * 0xD1B54A32D192ED03U)();
}

std::uint64_t word_of(std::uint64_t key, std::size_t index) {
  return key + index * 0x9E3779B97F4A7C15U;
}

void fill(std::span<std::byte> data, std::uint64_t key, std::uint64_t mask) {
  for (std::size_t at = 0; at < data.size(); at += word_bytes) {
    const std::uint64_t word = word_of(key, at / word_bytes) ^ mask;
    std::memcpy(data.data() + at, &word, std::min(word_bytes, data.size() - at));
  }
}

/// Returns the offset of a message's first wrong byte, or nothing.
std::optional<std::size_t> first_difference(std::span<const std::byte> data, std::uint64_t key) {
  for (std::size_t at = 0; at < data.size(); at += word_bytes) {
    const std::uint64_t word = word_of(key, at / word_bytes);
    if (std::memcmp(data.data() + at, &word, std::min(word_bytes, data.size() - at)) != 0) {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace

/// Simulates links together that share a wire in each direction.
class Ring::Bundle final : public Actor {
 public:
  Bundle(Ring& ring, std::size_t first, std::size_t count, Time late, std::uint64_t seed)
      : ring_(&ring),
        first_(first),
        seed_(seed),
        flits_((static_cast<std::int64_t>(ring.call_.bytes) + flit_bytes() - 1) / flit_bytes()),
        cycle_(static_cast<double>(second) / (ring.serial_.clock_MHz * 1e6) * ring.serial_.stretch),
        latency_(from_nanoseconds(ring.serial_.latency_ns +
                                  (ring.call_.cards > 1 ? ring.serial_.hop_ns : 0))),
        start_(from_nanoseconds(ring.serial_.start_ns)),
        late_(late),
        links_(count) {
    // Card 0 is late; it is at an end of the ring's first and of its last link.
    for (std::size_t link = 0; link < count; ++link) {
      const bool waits = first + link == 0 || first + link + 1 == ring.links_.size();
      simulator_.schedule(start_ + (waits ? late_ : 0), *this, encode(link, 0, Event::begin));
    }
  }

  void run(RingTime& time) {
    simulator_.run();
    for (const LinkState& link : links_) {
      time.slowest = std::max(time.slowest, link.ended);
    }
    time.events += simulator_.events();
    time.messages += messages_;
    time.wrong += wrong_;
    time.skipped_steps = std::max(time.skipped_steps, skipped_steps_);
    if (time.first_wrong.empty()) {
      time.first_wrong = first_wrong_;
    }
  }

  void handle(std::uint64_t payload) override {
    const std::size_t link = payload >> 3U;
    const std::size_t direction = (payload >> 2U) & 1U;
    switch (static_cast<Event>(payload & 3U)) {
      case Event::begin:
        begin_step(link);
        break;
      case Event::credit: {
        Channel& channel = links_[link].channels[direction];
        channel.credits += channel.lent.front();
        channel.lent.pop_front();
        send(link, direction);
        break;
      }
      case Event::arrival:
        arrive(link, direction);
        break;
    }
  }

 private:
  enum class Event : std::uint8_t { begin, arrival, credit };

  /// One direction of a link.
  struct Channel {
    std::int64_t credits = 0;           ///< flits for which the receiver has announced room
    std::int64_t unsent = 0;            ///< flits of the message that have not been sent
    std::int64_t taken = 0;             ///< flits of the message that the receiver has taken
    std::uint64_t key = 0;              ///< the message's data are made from it
    std::deque<std::int64_t> underway;  ///< groups of flits on their way
    std::deque<std::int64_t> lent;      ///< taken flits whose room has not been announced
  };
  struct LinkState {
    std::array<Channel, 2> channels;
    std::int64_t step = 0;
    std::int64_t open = 0;  ///< messages of the step that have not been received
    Time ended = 0;
  };
  struct Anchor {
    State state;
    Time time = 0;
    std::int64_t step = 0;
    std::int64_t until = 0;  ///< step at which the anchor is replaced
  };

  static std::uint64_t encode(std::size_t link, std::size_t direction, Event event) {
    return (link << 3U) | (direction << 2U) | static_cast<std::uint64_t>(event);
  }
  [[nodiscard]] std::int64_t flit_bytes() const {
    return ring_->serial_.width_bytes * ring_->serial_.channels;
  }
  /// Returns the kernels at the ends of a link: sender and receiver.
  [[nodiscard]] std::pair<Kernel*, Kernel*> ends(std::size_t link, std::size_t direction) const {
    Link& at = ring_->links_[first_ + link];
    return direction == 0 ? std::pair{&at.left, &at.right} : std::pair{&at.right, &at.left};
  }
  void send_message(std::size_t link, std::size_t direction) {
    const auto [sender, taker] = ends(link, direction);
    Channel& channel = links_[link].channels[direction];
    channel.key = key_of(seed_, first_ + link, direction, links_[link].step);
    fill(sender->out, channel.key, 0);
    // Wrong data, so that the check finds a message that does not arrive.
    fill(taker->in, channel.key, ~std::uint64_t{0});
    if (links_[link].step == 0) {
      channel.credits = ring_->call_.depth;
    }
    channel.unsent = flits_;
    channel.taken = 0;
    send(link, direction);
  }

  /// Sends as many flits as the receiver has room for. The receiver announces room flit by flit at
  /// the wire's pace, so the flits after the first need not wait.
  void send(std::size_t link, std::size_t direction) {
    Channel& channel = links_[link].channels[direction];
    const std::int64_t together = std::min(channel.unsent, channel.credits);
    if (together == 0) {
      return;
    }
    channel.unsent -= together;
    channel.credits -= together;
    channel.underway.push_back(together);
    channel.lent.push_back(together);
    Server& wire = wires_[direction];
    const Time begin = wire.claim(simulator_.now(), cycle_.of(together));
    simulator_.schedule(wire.free + latency_, *this, encode(link, direction, Event::arrival));
    simulator_.schedule(begin + cycle_.of(1) + 2 * latency_, *this,
                        encode(link, direction, Event::credit));
  }

  void arrive(std::size_t link, std::size_t direction) {
    Channel& channel = links_[link].channels[direction];
    const auto [sender, taker] = ends(link, direction);
    const std::int64_t flits = channel.underway.front();
    channel.underway.pop_front();
    const auto at = static_cast<std::size_t>(channel.taken * flit_bytes());
    const std::size_t bytes =
        std::min(static_cast<std::size_t>(flits * flit_bytes()), taker->in.size() - at);
    std::copy_n(sender->out.begin() + static_cast<std::ptrdiff_t>(at), bytes,
                taker->in.begin() + static_cast<std::ptrdiff_t>(at));
    channel.taken += flits;
    if (channel.taken < flits_) {
      return;
    }
    check(link, direction, *taker);
    if (--links_[link].open == 0) {
      end_step(link);
    } else if (ring_->serial_.in_turn) {
      send_message(link, 1);
    }
  }

  void begin_step(std::size_t link) {
    links_[link].open = 2;
    send_message(link, 0);
    if (!ring_->serial_.in_turn) {
      send_message(link, 1);
    }
  }

  /// Returns the number of the current message on a link, from 1.
  [[nodiscard]] std::int64_t message(std::size_t link, std::size_t direction) const {
    return 2 * links_[link].step + static_cast<std::int64_t>(direction) + 1;
  }

  void check(std::size_t link, std::size_t direction, Kernel& taker) {
    const bool flips =
        first_ + link == 0 && message(link, direction) == ring_->faults_.flip_message;
    if (flips) {
      taker.in[taker.in.size() / 2] ^= std::byte{1};
    }
    ++messages_;
    const auto found = first_difference(taker.in, links_[link].channels[direction].key);
    if (!found) {
      return;
    }
    if (wrong_++ == 0) {
      const auto cards = static_cast<std::size_t>(ring_->call_.cards);
      const std::size_t from = (first_ + link + direction) % cards;
      const std::size_t to = (first_ + link + 1 - direction) % cards;
      first_wrong_ = "message " + std::to_string(message(link, direction)) + " from card " +
                     std::to_string(from) + " to card " + std::to_string(to) +
                     (flips ? ", of which it flipped a bit," : "") + " is wrong near byte " +
                     std::to_string(*found);
    }
  }

  void end_step(std::size_t link) {
    LinkState& state = links_[link];
    ++state.step;
    if (link == 0) {
      skip();
    }
    if (state.step < ring_->call_.steps) {
      begin_step(link);
    } else {
      state.ended = simulator_.now() + skipped_;
    }
  }

  /// Skips steps that repeat earlier steps at later times. The last step and the step with a fault
  /// are always simulated.
  void skip() {
    if (!ring_->fast_forward_) {
      return;
    }
    State now = state();
    const std::int64_t step = links_.front().step;
    if (step > 1 && now == anchor_.state) {
      leave_out(step - anchor_.step, simulator_.now() - anchor_.time);
      anchor_.until = 0;  // the steps are fewer now, so the anchor is replaced earlier
    }
    if (links_.front().step >= anchor_.until) {
      anchor_ = {.state = std::move(now),
                 .time = simulator_.now(),
                 .step = links_.front().step,
                 .until = 2 * links_.front().step};
    }
  }

  void leave_out(std::int64_t steps, Time period) {
    const auto leads = [](const LinkState& a, const LinkState& b) { return a.step < b.step; };
    const std::int64_t reached = std::ranges::max_element(links_, leads)->step;
    std::int64_t stop = ring_->call_.steps - 2;  // other kernels may be in the middle of a step
    const std::int64_t fault = (ring_->faults_.flip_message - 1) / 2;
    if (ring_->faults_.flip_message > 0 && fault >= links_.front().step) {
      stop = std::min(stop, fault);
    }
    const std::int64_t periods = (stop - reached) / steps;
    if (periods <= 0) {
      return;
    }
    Time left_out = 0;
    if (__builtin_mul_overflow(periods, period, &left_out) ||
        __builtin_add_overflow(skipped_, left_out, &skipped_)) {
      throw TooLongError();
    }
    skipped_steps_ += periods * steps;
    for (LinkState& link : links_) {
      link.step += periods * steps;
    }
  }

  [[nodiscard]] State state() const {
    State all;
    simulator_.save(all);
    for (const Server& wire : wires_) {
      all.push_back(ahead(wire.free, simulator_.now()));
    }
    for (const LinkState& link : links_) {
      all.push_back(link.step - links_.front().step);
      all.push_back(link.open);
      for (const Channel& channel : link.channels) {
        all.insert(all.end(), {channel.credits, channel.unsent, channel.taken,
                               static_cast<std::int64_t>(channel.underway.size())});
        all.insert(all.end(), channel.underway.begin(), channel.underway.end());
        all.insert(all.end(), channel.lent.begin(), channel.lent.end());
      }
    }
    return all;
  }

  Ring* ring_;
  std::size_t first_;
  std::uint64_t seed_;
  std::int64_t flits_;
  Pace cycle_;
  Time latency_;
  Time start_;
  Time late_;
  Simulator simulator_;
  std::array<Server, 2> wires_{};
  std::vector<LinkState> links_;
  Anchor anchor_;
  Time skipped_ = 0;
  std::int64_t skipped_steps_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t wrong_ = 0;
  std::string first_wrong_;
};

Ring::Ring(const SerialParameters& serial, const FaultParameters& faults, const RingCall& call,
           bool fast_forward)
    : serial_(serial), faults_(faults), call_(call), fast_forward_(fast_forward) {
  if (call.cards < 1 || call.bytes < 1 || call.steps < 1 || call.depth < 1) {
    throw BoardError("a ring has at least one card, byte, step and flit in a channel");
  }
  // At least two whole bundles, and the smaller last bundle if the ring has one: the late card's
  // two links are in the first and in the last bundle.
  const std::int64_t whole =
      std::max<std::int64_t>(2, (image_cards + serial.sharing - 1) / serial.sharing) *
      serial.sharing;
  const bool image = fast_forward && call.cards > whole + call.cards % serial.sharing;
  const std::int64_t cards = image ? whole + call.cards % serial.sharing : call.cards;
  const Kernel kernel{.out = std::vector<std::byte>(call.bytes),
                      .in = std::vector<std::byte>(call.bytes)};
  links_.assign(static_cast<std::size_t>(cards), {.left = kernel, .right = kernel});
}

RingTime Ring::run(std::uint64_t seed) {
  RingTime time;
  time.simulated_cards = static_cast<std::int64_t>(links_.size());
  const auto stages = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(call_.cards - 1)));
  const Time late = from_nanoseconds(serial_.barrier_ns * stages);
  const auto shared = static_cast<std::size_t>(serial_.sharing);
  for (std::size_t first = 0; first < links_.size(); first += shared) {
    const std::size_t count = std::min(shared, links_.size() - first);
    Bundle(*this, first, count, late, seed).run(time);
  }
  return time;
}

bool Ring::holds_last(std::uint64_t seed) const {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const std::int64_t last = call_.steps - 1;
    if (first_difference(links_[link].right.in, key_of(seed, link, 0, last)) ||
        first_difference(links_[link].left.in, key_of(seed, link, 1, last))) {
      return false;
    }
  }
  return true;
}

}  // namespace isthmus::card

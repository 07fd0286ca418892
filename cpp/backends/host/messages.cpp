#include "messages.hpp"

#include <array>
#include <span>

#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"

namespace isthmus {
namespace {

/// As osu_bw has them: messages in flight, and the bytes that answer them.
constexpr unsigned usual_window = 64;
constexpr std::size_t answer_bytes = 4;
constexpr std::uint64_t most_window_bytes = std::uint64_t{4} << 20U;

/// One way from or to another rank: a buffer for each message that is verified together.
struct Way {
  unsigned peer = 0;
  int tag = 0;
  std::vector<std::span<std::byte>> turns;
};

class HostMessages : public JointOperation {
 protected:
  HostMessages(const OperationSpec& spec, Communicator& communicator)
      : memory_(spec.memory), bytes_(spec.bytes), communicator_(&communicator) {}

  Way sending(unsigned lane, unsigned to, std::size_t turns, std::size_t bytes) {
    Way way = make(lane, to, turns, bytes);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      sends(*buffers_[buffers_.size() - turns + turn], bytes, {communicator_->rank(), lane, turn},
            communicator_->size());
    }
    return way;
  }
  Way receiving(unsigned lane, unsigned from, std::size_t turns, std::size_t bytes) {
    Way way = make(lane, from, turns, bytes);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      receives(*buffers_[buffers_.size() - turns + turn], bytes, {from, lane, turn},
               communicator_->size());
    }
    return way;
  }

  /// The buffer of the message that is the `index`th of its way in a run.
  [[nodiscard]] std::span<std::byte> at(const Way& way, std::uint64_t index) const {
    return way.turns[fully_armed() ? index % way.turns.size() : 0];
  }
  void begin_send(const Way& way, std::uint64_t index) {
    communicator_->begin_send(at(way, index), way.peer, way.tag);
  }
  void begin_receive(const Way& way, std::uint64_t index) {
    communicator_->begin_receive(at(way, index), way.peer, way.tag);
  }
  void send(const Way& way, std::uint64_t index) {
    communicator_->send(at(way, index), way.peer, way.tag);
  }
  void receive(const Way& way, std::uint64_t index) {
    communicator_->receive(at(way, index), way.peer, way.tag);
  }
  void wait_all() { communicator_->wait_all(); }
  /// A message to oneself: nobody else would take it while one waits.
  void turn_over(const Way& out, const Way& in, std::uint64_t index) {
    begin_receive(in, index);
    begin_send(out, index);
    wait_all();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Way make(unsigned lane, unsigned peer, std::size_t turns, std::size_t bytes) {
    Way way{.peer = peer, .tag = static_cast<int>(lane), .turns = {}};
    for (std::size_t turn = 0; turn < turns; ++turn) {
      HostBuffer& buffer = *buffers_.emplace_back(std::make_unique<HostBuffer>(memory_, bytes));
      way.turns.emplace_back(buffer.data(), bytes);
    }
    return way;
  }

  std::string memory_;
  std::size_t bytes_;
  Communicator* communicator_;
  std::vector<std::unique_ptr<HostBuffer>> buffers_;
};

/// A message to each neighbour and one from each, all at once: one step of b_eff.
class Exchange final : public HostMessages {
 public:
  Exchange(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator) {
    const Neighbours neighbours = neighbours_of(spec.word("topology", topology_axis().usual),
                                                communicator.rank(), communicator.size());
    for (unsigned lane = 0; lane < lanes; ++lane) {
      out_.at(lane) = sending(lane, neighbours.receiver(lane), exchange_turns, bytes());
      in_.at(lane) = receiving(lane, neighbours.sender(lane), exchange_turns, bytes());
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return lanes * bytes(); }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_turns; }
  void run(std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      for (const Way& way : in_) {
        begin_receive(way, i);
      }
      for (const Way& way : out_) {
        begin_send(way, i);
      }
      wait_all();
    }
  }

 private:
  std::array<Way, lanes> out_;
  std::array<Way, lanes> in_;
};

/// There and back again between partners, by blocking calls, as osu_latency has it. A rank that is
/// its own partner sends itself two messages.
class PingPong final : public HostMessages {
 public:
  PingPong(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator),
        rank_(communicator.rank()),
        partner_(partner_of(rank_, communicator.size())) {
    for (unsigned lane = 0; lane < (rank_ == partner_ ? 2U : 1U); ++lane) {
      out_.push_back(sending(lane, partner_, exchange_turns, bytes()));
      in_.push_back(receiving(lane, partner_, exchange_turns, bytes()));
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return out_.size() * bytes(); }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_turns; }
  void run(std::uint64_t repetitions) override {
    if (rank_ < partner_) {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        send(out_[0], i);
        receive(in_[0], i);
      }
    } else if (rank_ > partner_) {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        receive(in_[0], i);
        send(out_[0], i);
      }
    } else {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        turn_over(out_[0], in_[0], i);
        turn_over(out_[1], in_[1], i);
      }
    }
  }

 private:
  unsigned rank_;
  unsigned partner_;
  std::vector<Way> out_;
  std::vector<Way> in_;
};

/// `depth` messages in flight to the partner, then its short answer, as osu_bw has it.
class Window final : public HostMessages {
 public:
  Window(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator), depth_(spec.count("depth", usual_window)) {
    const unsigned rank = communicator.rank();
    const unsigned partner = partner_of(rank, communicator.size());
    first_ = rank <= partner;
    second_ = rank >= partner;
    if (first_) {
      out_ = sending(0, partner, depth_, bytes());
      answered_ = receiving(1, partner, 1, answer_bytes);
    }
    if (second_) {
      in_ = receiving(0, partner, depth_, bytes());
      answer_ = sending(1, partner, 1, answer_bytes);
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return first_ ? depth_ * bytes() : 0; }
  void run(std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      if (second_) {
        for (std::uint64_t message = 0; message < depth_; ++message) {
          begin_receive(in_, message);
        }
      }
      if (first_) {
        for (std::uint64_t message = 0; message < depth_; ++message) {
          begin_send(out_, message);
        }
      }
      wait_all();
      if (first_ && second_) {
        turn_over(answer_, answered_, 0);
      } else if (first_) {
        receive(answered_, 0);
      } else {
        send(answer_, 0);
      }
    }
  }

 private:
  std::uint64_t depth_;
  bool first_ = false;   ///< sends the window; who is its own partner does both
  bool second_ = false;  ///< receives it, and answers
  Way out_;
  Way in_;
  Way answer_;
  Way answered_;
};

}  // namespace

std::vector<OperationInfo> message_operations() {
  const AxisInfo channel = channel_axis("mpi");
  return {{.name = "exchange",
           .parts = {{"exchange", "", "cpu"}},
           .axes = {channel, topology_axis()},
           .device_buffers = exchange_turns * 2 * lanes,
           .most_bytes = most_message_bytes,
           .joint = true,
           .api = "mpi"},
          {.name = "pingpong",
           .parts = {{"pingpong", "", "cpu"}},
           .axes = {channel},
           .device_buffers = 2 * exchange_turns,
           .most_bytes = most_message_bytes,
           .joint = true,
           .api = "mpi"},
          {.name = "window",
           .parts = {{"window", "", "cpu"}},
           .axes = {channel, queue_depth(usual_window)},
           .most_bytes = most_window_bytes,
           .joint = true,
           .api = "mpi"}};
}

std::unique_ptr<JointOperation> make_message_operation(const OperationSpec& spec,
                                                       Communicator& communicator) {
  if (spec.name == "exchange") {
    return std::make_unique<Exchange>(spec, communicator);
  }
  if (spec.name == "pingpong") {
    return std::make_unique<PingPong>(spec, communicator);
  }
  if (spec.name == "window") {
    return std::make_unique<Window>(spec, communicator);
  }
  throw UsageError("host has no joint operation '" + spec.name + "'");
}

}  // namespace isthmus

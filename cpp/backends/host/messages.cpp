#include "messages.hpp"

#include <algorithm>
#include <span>

#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"

namespace isthmus {
namespace {

using Message = Communicator::Message;

/// Defaults of osu_bw (OSU Micro-Benchmarks): messages that a sender has in flight, and bytes of
/// the message by which the receiver answers all of them.
constexpr unsigned usual_window = 64;
constexpr std::size_t answer_bytes = 1;
constexpr std::uint64_t most_window_bytes = std::uint64_t{4} << 20U;

/// The messages of a run in their order, which the run repeats.
struct Way {
  std::vector<Message> apart;    ///< each message with its own buffer
  std::vector<Message> through;  ///< all messages of a lane with that lane's first buffer
};

class HostMessages : public JointOperation {
 protected:
  HostMessages(const OperationSpec& spec, Communicator& communicator)
      : memory_(spec.memory), bytes_(spec.bytes), communicator_(&communicator) {}

  /// Adds the next message to a way, with a buffer for it.
  void sending(Way& way, unsigned to, unsigned lane, std::size_t turn, std::size_t bytes) {
    sends(added(way, to, lane, bytes), bytes, {communicator_->rank(), lane, turn},
          communicator_->size());
  }
  void receiving(Way& way, unsigned from, unsigned lane, std::size_t turn, std::size_t bytes) {
    receives(added(way, from, lane, bytes), bytes, {from, lane, turn}, communicator_->size());
  }

  /// Returns a way's messages: `apart` if they are fully armed, else `through`.
  [[nodiscard]] std::span<const Message> armed(const Way& way) const {
    return fully_armed() ? way.apart : way.through;
  }
  [[nodiscard]] Communicator& communicator() const { return *communicator_; }
  /// Sends a message from this rank to itself; the receive begins before the send, so neither
  /// blocks.
  void turn_over(const Message& out, const Message& in) {
    communicator_->begin_receives({&in, 1});
    communicator_->begin_sends({&out, 1});
    communicator_->wait_all();
  }
  void send(const Message& message) {
    communicator_->send(message.data, message.peer, message.tag);
  }
  void receive(const Message& message) {
    communicator_->receive(message.data, message.peer, message.tag);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  HostBuffer& added(Way& way, unsigned peer, unsigned lane, std::size_t bytes) {
    HostBuffer& buffer = *buffers_.emplace_back(std::make_unique<HostBuffer>(memory_, bytes));
    const int tag = static_cast<int>(lane);
    way.apart.push_back({.data = {buffer.data(), bytes}, .peer = peer, .tag = tag});
    way.through.push_back(*std::ranges::find(way.apart, tag, &Message::tag));
    return buffer;
  }

  std::string memory_;
  std::size_t bytes_;
  Communicator* communicator_;
  std::vector<std::unique_ptr<HostBuffer>> buffers_;
};

/// One step of b_eff: a rank sends a message to each neighbour and receives one from each, all at
/// once.
class Exchange final : public HostMessages {
 public:
  Exchange(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator) {
    const Neighbours neighbours = neighbours_of(spec.word("topology", topology_axis().usual),
                                                communicator.rank(), communicator.size());
    for (std::size_t turn = 0; turn < exchange_buffer_sets; ++turn) {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        sending(out_, neighbours.receiver(lane), lane, turn, bytes());
        receiving(in_, neighbours.sender(lane), lane, turn, bytes());
      }
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return lanes * bytes(); }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_buffer_sets; }
  void run(std::uint64_t repetitions) override {
    const std::span<const Message> out = armed(out_);
    const std::span<const Message> in = armed(in_);
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      const std::size_t first = i % exchange_buffer_sets * lanes;
      communicator().begin_receives(in.subspan(first, lanes));
      communicator().begin_sends(out.subspan(first, lanes));
      communicator().wait_all();
    }
  }

 private:
  Way out_;
  Way in_;
};

/// Ping-pong between partners by blocking calls, as in osu_latency. A rank without a partner sends
/// itself two messages.
class PingPong final : public HostMessages {
 public:
  PingPong(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator),
        rank_(communicator.rank()),
        partner_(partner_of(rank_, communicator.size())) {
    for (std::size_t turn = 0; turn < exchange_buffer_sets; ++turn) {
      for (unsigned lane = 0; lane < ways(); ++lane) {
        sending(out_, partner_, lane, turn, bytes());
        receiving(in_, partner_, lane, turn, bytes());
      }
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return ways() * bytes(); }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_buffer_sets; }
  void run(std::uint64_t repetitions) override {
    const std::span<const Message> out = armed(out_);
    const std::span<const Message> in = armed(in_);
    if (rank_ < partner_) {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        send(out[i % exchange_buffer_sets]);
        receive(in[i % exchange_buffer_sets]);
      }
    } else if (rank_ > partner_) {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        receive(in[i % exchange_buffer_sets]);
        send(out[i % exchange_buffer_sets]);
      }
    } else {
      for (std::uint64_t i = 0; i < 2 * repetitions; ++i) {
        turn_over(out[i % out.size()], in[i % in.size()]);
      }
    }
  }

 private:
  [[nodiscard]] unsigned ways() const { return rank_ == partner_ ? 2 : 1; }

  unsigned rank_;
  unsigned partner_;
  Way out_;
  Way in_;
};

/// Sends `depth` messages to the partner at once and waits for a short answer, as osu_bw does.
class Window final : public HostMessages {
 public:
  Window(const OperationSpec& spec, Communicator& communicator)
      : HostMessages(spec, communicator), depth_(spec.count("depth", usual_window)) {
    const unsigned rank = communicator.rank();
    const unsigned partner = partner_of(rank, communicator.size());
    first_ = rank <= partner;
    second_ = rank >= partner;
    for (std::size_t turn = 0; turn < depth_; ++turn) {
      if (first_) {
        sending(out_, partner, 0, turn, bytes());
      }
      if (second_) {
        receiving(in_, partner, 0, turn, bytes());
      }
    }
    if (first_) {
      receiving(answered_, partner, 1, 0, answer_bytes);
    }
    if (second_) {
      sending(answer_, partner, 1, 0, answer_bytes);
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return first_ ? depth_ * bytes() : 0; }
  void run(std::uint64_t repetitions) override {
    const std::span<const Message> out = armed(out_);
    const std::span<const Message> in = armed(in_);
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      if (second_) {
        communicator().begin_receives(in);
      }
      if (first_) {
        communicator().begin_sends(out);
      }
      communicator().wait_all();
      if (first_ && second_) {
        turn_over(answer_.apart[0], answered_.apart[0]);
      } else if (first_) {
        receive(answered_.apart[0]);
      } else {
        send(answer_.apart[0]);
      }
    }
  }

 private:
  std::uint64_t depth_;
  bool first_ = false;   ///< sends the messages; a rank without a partner does both
  bool second_ = false;  ///< receives the messages and answers
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
           .device_buffers = exchange_buffer_sets * 2 * lanes,
           .most_bytes = most_message_bytes,
           .joint = true,
           .api = "mpi"},
          {.name = "pingpong",
           .parts = {{"pingpong", "", "cpu"}},
           .axes = {channel},
           .device_buffers = 2 * exchange_buffer_sets,
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
